import type { OpenAPIObject } from 'trpc-to-openapi';
import v1 from '../../openapi.json' with { type: 'json' };
import type { ApiVersion } from '../rest/rest-contract.ts';

/** Where the interface is served; `url` ends in the version segment. */
export interface DocumentServer {
  readonly url: string;
  readonly description?: string;
}

/** Written by the generator, and checked for drift. */
const COMMITTED = { v1 } as const satisfies Partial<Record<ApiVersion, object>>;

export interface DocumentOptions {
  /** @default 'v1' */
  readonly version?: keyof typeof COMMITTED;
  readonly servers: readonly DocumentServer[];
}

/** The OpenAPI 3.1 document of one version, as committed, with the servers that it is offered at. */
export function openApiDocument({ version = 'v1', servers }: DocumentOptions): OpenAPIObject {
  const document = COMMITTED[version] as unknown as OpenAPIObject; // TypeScript widens what it reads of a JSON file
  return {
    ...document,
    servers: servers.map(({ url, description }) => (description === undefined ? { url } : { url, description })),
  };
}

/** The same as YAML. Loads the writer on the first call, because most processes are never asked for it. */
export async function openApiYaml(options: DocumentOptions): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(openApiDocument(options));
}
