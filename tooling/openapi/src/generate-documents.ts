// Writes the committed documents of packages/api from its operations, and the table of docs/errors.md from its errors. A test
// fails if one is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { DOCUMENTED_VERSIONS, restRouters } from '@petstore/api';
import { documentFile } from './documents.ts';
import { ERRORS_GUIDE, withErrorTable } from './error-table.ts';
import { generateDocument } from './generate/generate-document.ts';

for (const about of DOCUMENTED_VERSIONS) {
  const text = JSON.stringify(generateDocument(restRouters[about.version], about), null, 2);
  writeFileSync(documentFile(about.fileName), `${text}\n`);
}
writeFileSync(ERRORS_GUIDE, withErrorTable(readFileSync(ERRORS_GUIDE, 'utf8')));
