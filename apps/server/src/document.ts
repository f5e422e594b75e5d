import { createRequire } from 'node:module';
import { type DocumentOptions, type DocumentServer, openApiDocument } from '@petstore/api';
import type { RenderedDocument } from './http/app-options.ts';
import type { Settings } from './settings.ts';

const require = createRequire(import.meta.url);

export interface DocumentPlace extends Pick<Settings, 'publicBaseUrl' | 'stagingBaseUrl' | 'petsSunsetAt'> {
  /** Where we listen, which stands in the document unless PUBLIC_BASE_URL names what the world sees. */
  readonly publicUrl: string;
}

/** Renders the OpenAPI document of one version with the servers of this installation. */
export function renderDocument(
  version: NonNullable<DocumentOptions['version']>,
  { publicBaseUrl, stagingBaseUrl, petsSunsetAt, publicUrl }: DocumentPlace,
): RenderedDocument {
  // The settings name version 1's base URLs; every version is served beside it.
  const urlOf = (baseUrl: string) => baseUrl.replace(/\/v1$/, `/${version}`);
  const servers: DocumentServer[] = [
    {
      url: urlOf(publicBaseUrl ?? `${publicUrl}/v1`),
      description: publicBaseUrl === undefined ? 'This server' : 'Production',
    },
  ];
  if (stagingBaseUrl !== undefined) servers.push({ url: urlOf(stagingBaseUrl), description: 'Staging' });
  const document = openApiDocument({ version, servers, sunsetAt: petsSunsetAt });
  // Most processes are never asked for it, and loading it takes a tenth of a whole start.
  const { stringify }: typeof import('yaml') = require('yaml');
  return { json: JSON.stringify(document), yaml: stringify(document) };
}
