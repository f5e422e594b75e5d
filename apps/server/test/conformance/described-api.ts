/** The parts of an OpenAPI document that responses are checked against, references resolved. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly method: string;
  /** Below the version segment, with parameters in braces. */
  readonly path: string;
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

export interface DescribedResponse {
  readonly headers?: Readonly<Record<string, DescribedHeader>>;
  readonly content?: Readonly<Record<string, DescribedContent>>;
}

export interface DescribedHeader {
  readonly required?: boolean;
  readonly schema: object & { readonly type?: string };
}

export interface DescribedContent {
  readonly schema: object;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface DescribedApi {
  /** `/v1`, as the paths of its servers end. */
  readonly basePath: string;
  readonly operations: readonly DescribedOperation[];
  /** The response below {@link basePath} where there is no operation: any failure, and any header of the others. */
  readonly elsewhere: DescribedResponse;
}

interface ReadDocument {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<DescribedOperation, 'method' | 'path'>>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>> & { readonly Error: object };
    readonly responses: Readonly<Record<string, DescribedResponse>> & { readonly OtherError: DescribedResponse };
  };
}

/**
 * Reads a document as it was served.
 *
 * @param foundAt where, in which its relative URLs are seen
 */
export function describeApi(document: unknown, foundAt?: string): DescribedApi {
  const { servers, paths, components } = followReferences(document, document) as ReadDocument; // by the linters
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId, responses }]) => ({
      operationId,
      method: method.toUpperCase(),
      path,
      responses,
    })),
  );
  const { OtherError } = components.responses;
  const headers: Record<string, DescribedHeader> = {};
  for (const response of [
    ...Object.values(components.responses),
    ...operations.flatMap((o) => Object.values(o.responses)),
  ]) {
    for (const [name, { schema }] of Object.entries(response.headers ?? {})) headers[name] = { schema };
  }
  return {
    basePath: new URL(servers[0]?.url ?? '', foundAt).pathname,
    operations,
    elsewhere: {
      headers: { ...headers, ...OtherError.headers },
      content: { 'application/json': { schema: components.schemas.Error } },
    },
  };
}

function followReferences(value: unknown, document: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => followReferences(item, document));
  if ('$ref' in value && typeof value.$ref === 'string') {
    return followReferences(lookUp(value.$ref, document), document);
  }
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, followReferences(own, document)]));
}

function lookUp($ref: string, document: unknown): unknown {
  const names = $ref.replace(/^#\//, '').split('/');
  // All values on the way of a reference are objects.
  return names.reduce((found, name) => (found as Readonly<Record<string, unknown>>)[name], document);
}
