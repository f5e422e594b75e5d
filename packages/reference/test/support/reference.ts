import { type ApiVersion, openApiDocument } from '@petstore/api';
import { createReference, type Reference } from '../../src/index.ts';

/** The site of a server at an address, which its documents name. */
export const referenceAt = (origin = 'http://127.0.0.1:3000'): Reference =>
  createReference({
    documentOf: (version: ApiVersion) => openApiDocument({ version, servers: [{ url: `${origin}/${version}` }] }),
  });
