/** Writes what the client knows of the service, from its documents, errors and contracts. Run it when one has changed. */
import { writeFileSync } from 'node:fs';
import {
  DOCUMENT_TYPES,
  ERROR_CODES_FILE,
  generateDocumentTypes,
  generateErrorCodes,
  generateTraits,
  TRAITS_FILE,
} from './document-types.ts';

for (const types of DOCUMENT_TYPES) writeFileSync(types.file, await generateDocumentTypes(types));
writeFileSync(ERROR_CODES_FILE, generateErrorCodes());
writeFileSync(TRAITS_FILE, generateTraits());
