import type { OpenAPIObject } from 'trpc-to-openapi';

/** Where the interface is served; `url` ends in the version segment. */
export interface DocumentServer {
  readonly url: string;
  readonly description?: string;
}

/** Servers as the document names them; linters want to be told that they are not for ourselves alone. */
export const describeServers = (servers: readonly DocumentServer[]): NonNullable<OpenAPIObject['servers']> =>
  servers.map(({ url, description }) => ({
    url,
    ...(description !== undefined && { description }),
    'x-internal': false,
  }));
