/** Writes the types of what goes over REST, from the OpenAPI document. Run it when the document has changed. */
import { writeFileSync } from 'node:fs';
import { DOCUMENT_TYPES_FILE, generateDocumentTypes } from './document-types.ts';

writeFileSync(DOCUMENT_TYPES_FILE, await generateDocumentTypes());
