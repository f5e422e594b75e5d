import { ERROR_CATALOGUE } from '@petstore/api';

/** The parts of our OpenAPI 3.1 documents that pages show, with each reference replaced by its target. */
export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly description: string; readonly version: string };
  readonly servers: readonly { readonly url: string; readonly description?: string }[];
  /** The sections of its operations, some of which may hold none. */
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'method' | 'path'>>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description?: string }>>;
  };
}

export interface Operation {
  /** In capitals. */
  readonly method: string;
  /** Below the version's base URL. */
  readonly path: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  /** A guide with further information. */
  readonly externalDocs?: { readonly url: string; readonly description: string };
  readonly parameters?: readonly Parameter[];
  /** By status; `default` covers every other status. */
  readonly responses: Readonly<Record<string, Response>>;
  /** Left out if the operation is stable. */
  readonly 'x-stability'?: 'beta' | 'experimental';
  /** The day on which a deprecated operation ends. */
  readonly 'x-sunset'?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly example?: unknown }>>;
  readonly content?: Readonly<
    Record<string, { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>
  >;
}

export interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** @param document one of our documents, without circular references; tests read every field */
export function resolveReferences(document: object): OpenApiDocument {
  const resolve = (part: unknown): unknown =>
    JSON.parse(JSON.stringify(part), (_, value) =>
      typeof value?.$ref === 'string' ? resolve(find(value.$ref)) : value,
    );
  const find = (reference: string) =>
    reference
      .split('/')
      .slice(1)
      .reduce((part: unknown, name) => (part as Record<string, unknown>)[name], document); // a JSON pointer
  return resolve(document) as OpenApiDocument; // generated in this form
}

/** Sorts collections before their members, and deprecated operations last. */
export function operationsOf({ paths }: OpenApiDocument): readonly Operation[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  const rank = ({ deprecated = false, path }: Operation) => Number(deprecated) + path;
  return operations.toSorted((a, b) => rank(a).localeCompare(rank(b)));
}

const examplesOf = ({ content = {} }: Response) =>
  Object.values(content).flatMap(({ examples = {} }) => Object.entries(examples));

/** The codes of the errors that the document shows for a response. */
export const errorCodesOf = (response: Response): readonly string[] =>
  examplesOf(response).flatMap(([name]) => (Object.hasOwn(ERROR_CATALOGUE, name) ? [name] : []));

/** The status of a successful response, and the first body that the document shows for it. */
export function successOf({ responses }: Operation): { readonly status: string; readonly body?: unknown } {
  const [[status, response] = ['', { description: '' }]] = Object.entries(responses);
  return { status, body: examplesOf(response)[0]?.[1].value };
}

/** The type in words: `integer (int64)`. */
export function typeOf({ type = 'object', format, items, minimum, maximum, default: value }: Schema): string {
  if (items !== undefined) return `${typeOf(items)}, repeatable`;
  const range = minimum !== undefined && maximum !== undefined && `${minimum} to ${maximum}`;
  const facts = [format, range, value !== undefined && `default ${value}`].filter(Boolean).join(', ');
  const name = [type].flat().join(' or ');
  return facts === '' ? name : `${name} (${facts})`;
}
