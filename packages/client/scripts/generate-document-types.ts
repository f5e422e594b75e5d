/** Writes the types of what goes over REST, from the OpenAPI documents. Run it when one has changed. */
import { writeFileSync } from 'node:fs';
import { DOCUMENT_TYPES, generateDocumentTypes } from './document-types.ts';

for (const types of DOCUMENT_TYPES) writeFileSync(types.file, await generateDocumentTypes(types));
