/** Writes the types of what goes over REST, from the OpenAPI documents and the error catalogue. Run it when one has changed. */
import { writeFileSync } from 'node:fs';
import { DOCUMENT_TYPES, ERROR_CODES_FILE, generateDocumentTypes, generateErrorCodes } from './document-types.ts';

for (const types of DOCUMENT_TYPES) writeFileSync(types.file, await generateDocumentTypes(types));
writeFileSync(ERROR_CODES_FILE, generateErrorCodes());
