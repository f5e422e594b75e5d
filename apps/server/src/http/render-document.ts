import { type DocumentOptions, type DocumentServer, openApiDocument, petsSunset } from '@petstore/api';
import type { Settings } from '../settings.ts';
import type { RenderedDocument } from './app-options.ts';

export interface DocumentLocation extends Pick<Settings, 'publicBaseUrl' | 'stagingBaseUrl' | 'petsSunsetAt'> {
  /** Where we listen, which stands in the document unless PUBLIC_BASE_URL is set. */
  readonly publicUrl: string;
}

/** Renders the OpenAPI document of one version with the servers of this installation. */
export function renderDocument(
  version: NonNullable<DocumentOptions['version']>,
  { publicBaseUrl, stagingBaseUrl, petsSunsetAt, publicUrl }: DocumentLocation,
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
  const document = openApiDocument({ version, servers, sunsetOverrides: petsSunset(petsSunsetAt) });
  return {
    json: JSON.stringify(document),
    async yaml() {
      // Most processes never need it, and loading it takes a tenth of a whole start.
      const { stringify } = await import('yaml');
      return stringify(document);
    },
  };
}
