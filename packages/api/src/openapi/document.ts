import type { OpenAPIObject } from 'trpc-to-openapi';
import v1 from '../../openapi.json' with { type: 'json' };
import v2 from '../../openapi.v2.json' with { type: 'json' };
import type { Stability } from '../rest/rest-contract.ts';
import type { ApiVersion } from '../rest/rest-route.ts';
import { type DocumentServer, describeServers } from './document-server.ts';
import { stabilityExtensions } from './stability.ts';
import { referencePath } from './versions.ts';

export type { DocumentServer } from './document-server.ts';

type Paths = NonNullable<OpenAPIObject['paths']>;
type Operation = Record<string, unknown>;

/** Written by the generator, and checked for drift. */
const COMMITTED = { v1, v2 } as const satisfies Record<ApiVersion, object>;

export interface DocumentOptions {
  /** @default 'v1' */
  readonly version?: ApiVersion;
  readonly servers: readonly DocumentServer[];
  /** When deprecated operations end here. @default what is committed */
  readonly sunsetAt?: Date;
}

/** The OpenAPI 3.1 document of one version, as committed, with what differs from one installation to another. */
export function openApiDocument({ version = 'v1', servers, sunsetAt }: DocumentOptions): OpenAPIObject {
  const document = COMMITTED[version] as unknown as OpenAPIObject; // TypeScript widens what it reads of a JSON file
  const [first] = servers;
  return {
    ...document,
    ...(first && {
      externalDocs: { ...document.externalDocs, url: first.url.replace(/\/v\d+$/, referencePath(version)) },
    }),
    servers: describeServers(servers),
    ...(sunsetAt && { paths: mapOperations(document.paths, (operation) => withSunset(operation, sunsetAt)) }),
  };
}

function mapOperations(paths: Paths = {}, map: (operation: Operation) => Operation): Paths {
  const items = Object.entries(paths).map(([path, item]) => {
    const operations = Object.entries(item as Record<string, Operation>); // path items hold nothing else
    return [path, Object.fromEntries(operations.map(([method, operation]) => [method, map(operation)]))] as const;
  });
  return Object.fromEntries(items);
}

function withSunset(operation: Operation, sunsetAt: Date): Operation {
  if (!('x-sunset' in operation)) return operation;
  const stability = (operation['x-stability'] as Stability | undefined) ?? 'stable'; // from the procedure's metadata
  return { ...operation, ...stabilityExtensions(stability, sunsetAt) };
}

/** The same as YAML. Loads the writer on the first call, because most processes are never asked for it. */
export async function openApiYaml(options: DocumentOptions): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(openApiDocument(options));
}
