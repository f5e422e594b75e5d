// Writes openapi.json anew from the procedures. A test fails where it differs from what is committed.
import { writeFileSync } from 'node:fs';
import { generateDocument } from '../src/openapi/generate-document.ts';
import { appRouter } from '../src/router.ts';

writeFileSync(new URL('../openapi.json', import.meta.url), `${JSON.stringify(generateDocument(appRouter), null, 2)}\n`);
