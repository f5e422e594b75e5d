// Writes the documents anew from the procedures. A test fails where one differs from what is committed.
import { writeFileSync } from 'node:fs';
import { DOCUMENTED_VERSIONS } from '../src/openapi/versions.ts';
import { appRouter } from '../src/router.ts';
import { generateDocument } from './generate-document.ts';

for (const about of DOCUMENTED_VERSIONS) {
  const text = JSON.stringify(generateDocument(appRouter, about), null, 2);
  writeFileSync(new URL(`../${about.fileName}`, import.meta.url), `${text}\n`);
}
