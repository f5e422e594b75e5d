import type { OpenAPIObject } from 'trpc-to-openapi';
import committed from '../../openapi.json' with { type: 'json' };

/** Where the interface is served; `url` ends in `/v1`. */
export interface DocumentServer {
  readonly url: string;
  readonly description?: string;
}

/** The OpenAPI 3.1 document of the interface, as committed, with the servers that it is offered at. */
export function openApiDocument({ servers }: { readonly servers: readonly DocumentServer[] }): OpenAPIObject {
  const document = committed as unknown as OpenAPIObject; // written by the generator, and checked for drift
  return {
    ...document,
    servers: servers.map(({ url, description }) => (description === undefined ? { url } : { url, description })),
  };
}

/** The same as YAML. Loads the writer on the first call, because most processes are never asked for it. */
export async function openApiYaml(options: { readonly servers: readonly DocumentServer[] }): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(openApiDocument(options));
}
