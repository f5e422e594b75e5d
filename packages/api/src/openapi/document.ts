import type { OpenAPIObject } from 'trpc-to-openapi';
import v1 from '../../openapi.json' with { type: 'json' };
import v2 from '../../openapi.v2.json' with { type: 'json' };
import type { Stability } from '../procedure-meta.ts';
import { deprecationFields } from '../rest/deprecation-fields.ts';
import type { ApiVersion } from '../rest/rest-route.ts';
import type { Headers } from './components.ts';
import { type DocumentServer, describeServers } from './document-server.ts';
import { stabilityExtensions } from './stability.ts';
import { DEPRECATION_GUIDE_PATH, referencePath } from './versions.ts';

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
  const { externalDocs, paths, components } = document;
  const site = servers[0]?.url.replace(/\/v\d+$/, '');
  return {
    ...document,
    ...(site !== undefined && { externalDocs: { ...externalDocs, url: site + referencePath(version) } }),
    servers: describeServers(servers),
    paths: mapOperations(paths, (operation) => withSunset(withGuide(operation, site), sunsetAt)),
    ...(sunsetAt && { components: { ...components, headers: withSunsetExamples(components?.headers, sunsetAt) } }),
  };
}

function mapOperations(paths: Paths = {}, map: (operation: Operation) => Operation): Paths {
  const items = Object.entries(paths).map(([path, item]) => {
    const operations = Object.entries(item as Record<string, Operation>); // path items hold nothing else
    return [path, Object.fromEntries(operations.map(([method, operation]) => [method, map(operation)]))] as const;
  });
  return Object.fromEntries(items);
}

/** @param site what our pages are below */
function withGuide(operation: Operation, site: string | undefined): Operation {
  const { externalDocs } = operation;
  if (site === undefined || externalDocs === undefined) return operation;
  // The generator gives it to deprecated operations, and to no others.
  return { ...operation, externalDocs: { ...(externalDocs as object), url: site + DEPRECATION_GUIDE_PATH } };
}

function withSunset(operation: Operation, sunsetAt: Date | undefined): Operation {
  if (sunsetAt === undefined || !('x-sunset' in operation)) return operation;
  const stability = (operation['x-stability'] as Stability | undefined) ?? 'stable'; // from the procedure's metadata
  return { ...operation, ...stabilityExtensions(stability, sunsetAt) };
}

/** With examples of a deprecation as it is told here. */
function withSunsetExamples(headers: Headers = {}, sunsetAt: Date): Headers {
  const sunset = () => sunsetAt.toUTCString();
  const deprecation = (committed: string) =>
    deprecationFields(new Date(Number(committed.replace('@', '')) * 1000), sunsetAt).deprecation;
  const told = { Deprecation: deprecation, OptionalDeprecation: deprecation, Sunset: sunset, OptionalSunset: sunset };
  const examples = Object.entries(told).flatMap(([name, tell]) => {
    const header = headers[name];
    return header !== undefined && 'example' in header
      ? [[name, { ...header, example: tell(String(header.example)) }] as const]
      : [];
  });
  return { ...headers, ...Object.fromEntries(examples) };
}

/** The same as YAML. Loads the writer on the first call, because most processes are never asked for it. */
export async function openApiYaml(options: DocumentOptions): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(openApiDocument(options));
}
