// Writes the committed documents of packages/api from its procedures. A test fails if one is out of date.
import { writeFileSync } from 'node:fs';
import { DOCUMENTED_VERSIONS, restRouters } from '@petstore/api';
import { documentFile } from './documents.ts';
import { generateDocument } from './generate/generate-document.ts';

for (const about of DOCUMENTED_VERSIONS) {
  const text = JSON.stringify(generateDocument(restRouters[about.version], about), null, 2);
  writeFileSync(documentFile(about.fileName), `${text}\n`);
}
