import { createRequire } from 'node:module';
import { type DocumentServer, openApiDocument } from '@petstore/api';
import type { Settings } from '@petstore/runtime';
import type { RenderedDocument } from './http/app-options.ts';

const require = createRequire(import.meta.url);

/**
 * Renders the OpenAPI document with the servers of this installation.
 *
 * @param publicUrl where we listen, which stands in the document unless PUBLIC_BASE_URL names what the world sees
 */
export function renderDocument(
  { publicBaseUrl, stagingBaseUrl }: Pick<Settings, 'publicBaseUrl' | 'stagingBaseUrl'>,
  publicUrl: string,
): RenderedDocument {
  const servers: DocumentServer[] = [{ url: publicBaseUrl ?? `${publicUrl}/v1`, description: 'Production' }];
  if (stagingBaseUrl !== undefined) servers.push({ url: stagingBaseUrl, description: 'Staging' });
  const document = openApiDocument({ servers });
  // Most processes are never asked for it, and loading it takes a tenth of a whole start.
  const { stringify }: typeof import('yaml') = require('yaml');
  return { json: JSON.stringify(document), yaml: stringify(document) };
}
