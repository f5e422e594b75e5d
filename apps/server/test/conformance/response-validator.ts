import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** The parts of an OpenAPI document that responses are checked against, references resolved. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly method: string;
  /** Below the version segment, with parameters in braces. */
  readonly path: string;
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

interface DescribedResponse {
  readonly headers?: Readonly<Record<string, DescribedHeader>>;
  readonly content?: Readonly<Record<string, DescribedContent>>;
}

interface DescribedHeader {
  readonly required?: boolean;
  readonly schema: object & { readonly type?: string };
}

interface DescribedContent {
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

/** A request and its response, as they went over the wire. */
export interface Exchanged {
  readonly method: string;
  /** The path, perhaps with a query. */
  readonly url: string;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Left out where it is not checked. */
  readonly body: string | undefined;
  /** The operation that was meant, where the path is of none. */
  readonly meantFor?: string;
  /** Whether the key may be about to end, which its responses then say in a header that no document has. @default false */
  readonly keyMayEnd?: boolean;
}

/** Fields that belong to no operation: those of HTTP and CORS. */
const TRANSPORT_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'date',
  'transfer-encoding',
  'content-length',
  'content-type',
  'content-encoding',
  'cache-control',
  'vary',
  'content-security-policy',
  'x-content-type-options',
  'access-control-expose-headers',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-max-age',
]);

/** What every response forbids: to store it, and to guess its type. */
const ALWAYS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** Of the length of a body, which a 204 may not have (RFC 9110 section 8.6). */
const LENGTHS = ['content-length', 'transfer-encoding'];

/** The link of an error to its page, the last of its links. No document describes it. */
const HELP_LINK = /(?:^|, )<[^>]*>; rel="help"$/;

/** Paths of the API that are no operations: its documents. */
const DOCUMENT = /^\/openapi\.(json|yaml)$/;

/** Checks responses against OpenAPI documents, and records which ones it has seen. */
export class ResponseValidator {
  readonly #apis: readonly DescribedApi[];
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true });
  readonly #validators = new WeakMap<object, ValidateFunction>();
  /** By the text of the schema: many responses have the same headers. */
  readonly #compiled = new Map<string, ValidateFunction>();
  /** `operationId status` and, of failures, `operationId status code`. */
  readonly seen = new Set<string>();

  constructor(apis: readonly DescribedApi[]) {
    this.#apis = apis;
    addFormats.default(this.#ajv);
  }

  /** @returns what is wrong with a response, in words; empty where it conforms, or is outside of the documented API */
  check(exchanged: Exchanged): readonly string[] {
    const path = exchanged.url.replace(/^https?:\/\/[^/]*/i, '').replace(/[?#].*$/, '');
    const api = this.#apis.find(({ basePath }) => path === basePath || path.startsWith(`${basePath}/`));
    if (api === undefined) return [];
    const below = path.slice(api.basePath.length);
    if (DOCUMENT.test(below)) return [];
    const onPath = api.operations.filter((operation) => matches(operation.path, below));
    if (onPath.length === 0) {
      const meant = api.operations.find(({ operationId }) => operationId === exchanged.meantFor);
      return meant === undefined ? this.#checkElsewhere(exchanged, api.elsewhere) : this.#checkMissed(exchanged, meant);
    }
    const method = exchanged.method === 'HEAD' ? 'GET' : exchanged.method;
    const operation = onPath.find((candidate) => candidate.method === method);
    if (operation !== undefined) return this.#checkOperation(exchanged, operation);
    const others = onPath.map(({ responses }) => responses['default']);
    const isOptions = method === 'OPTIONS' && exchanged.status === 204;
    if (isOptions) return [...checkAllow(exchanged, onPath), ...this.#checkOptions(exchanged, others)];
    if (exchanged.status < 400) return [`${exchanged.status} is no failure, and ${method} is not documented`];
    return [...checkAllow(exchanged, onPath), ...onPath.flatMap((other) => this.#checkOperation(exchanged, other))];
  }

  /** Where there is no operation, there are only failures, with any of the codes, and preflights. */
  #checkElsewhere(exchanged: Exchanged, elsewhere: DescribedResponse): readonly string[] {
    if (exchanged.method === 'OPTIONS' && exchanged.status === 204) return this.#checkOptions(exchanged, [elsewhere]);
    const wrong = this.#checkResponse(exchanged, elsewhere);
    return exchanged.status < 400 ? [...wrong, `${exchanged.status} is no failure, and nothing is there`] : wrong;
  }

  /**
   * A failure before the operation is found is documented as `default`. Generated clients go by the status, so that its
   * body has to be as the operation has it for that as well.
   */
  #checkMissed(exchanged: Exchanged, { operationId, responses }: DescribedOperation): readonly string[] {
    const { status, method, headers, body } = exchanged;
    for (const key of ['default', status]) this.seen.add(`${operationId} ${key} ${codeOf(exchanged)}`);
    const wrong = this.#checkFailure(exchanged, responses['default']);
    const ofStatus = responses[status];
    if (ofStatus === undefined) return wrong;
    return [...wrong, ...this.#checkBody(method, headers['content-type'], body, ofStatus.content)];
  }

  #checkOperation(exchanged: Exchanged, { operationId, responses }: DescribedOperation): readonly string[] {
    const { status, method } = exchanged;
    const response = responses[status];
    if (response === undefined && status < 400) return [`${status} is not documented`];
    const key = `${operationId} ${response === undefined ? 'default' : status}`;
    if (method !== 'HEAD') {
      this.seen.add(key);
      if (status >= 400) this.seen.add(`${key} ${codeOf(exchanged)}`);
    }
    return status < 400
      ? this.#checkResponse(exchanged, response)
      : this.#checkFailure(exchanged, response ?? responses['default']);
  }

  /** The status of the body must be that of the response. */
  #checkFailure(exchanged: Exchanged, response: DescribedResponse | undefined): readonly string[] {
    const wrong = [...this.#checkResponse(exchanged, response)];
    if (exchanged.method === 'HEAD' || wrong.length > 0) return wrong;
    const { status } = JSON.parse(exchanged.body ?? '{}');
    if (status !== exchanged.status) wrong.push(`the body says ${status}`);
    return wrong;
  }

  #checkResponse(exchanged: Exchanged, response: DescribedResponse | undefined): readonly string[] {
    if (response === undefined) return ['the status is not documented, nor any other'];
    const { method, headers, body } = exchanged;
    return [
      ...this.#checkHeaders(exchanged, response.headers ?? {}),
      ...this.#checkBody(method, headers['content-type'], body, response.content),
    ];
  }

  /** Responses to OPTIONS have the headers of every response, and Allow. */
  #checkOptions(exchanged: Exchanged, others: readonly (DescribedResponse | undefined)[]): readonly string[] {
    const { headers, body } = exchanged;
    const documented = Object.assign({}, ...others.map((response) => response?.headers));
    const wrong = [...this.#checkHeaders(exchanged, documented)];
    if (headers['allow'] === undefined && headers['access-control-allow-methods'] === undefined) wrong.push('no Allow');
    if (body !== '' || headers['content-type'] !== undefined) wrong.push('a 204 has a body, or a type of one');
    return wrong;
  }

  #checkHeaders(
    { status, headers, keyMayEnd = false }: Exchanged,
    documented: Readonly<Record<string, DescribedHeader>>,
  ): readonly string[] {
    const { link = '', ...others } = headers;
    const described = status < 400 ? link : link.replace(HELP_LINK, '');
    const wrong = status >= 400 && described === link ? ['an error has no link to its page'] : [];
    for (const [name, value] of Object.entries(ALWAYS)) {
      if (headers[name] !== value) wrong.push(`the header ${name} is not ${value}`);
    }
    if (status === 204 && LENGTHS.some((name) => name in headers)) wrong.push('a 204 says how long its body is');
    if (described.includes('rel="help"')) wrong.push('there is a link to help that is none of an error to its page');
    const fields: Readonly<Record<string, string>> = { ...others, ...(described !== '' && { link: described }) };
    const known = new Set(TRANSPORT_HEADERS);
    if (keyMayEnd) known.add('x-api-key-expires');
    for (const [name, { required = false, schema }] of Object.entries(documented)) {
      const field = name.toLowerCase();
      const text = fields[field];
      known.add(field);
      if (text === undefined) {
        if (required) wrong.push(`the header ${name} is missing`);
        continue;
      }
      const value = schema.type === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text;
      wrong.push(...this.#checkValue(`the header ${name}`, schema, value));
    }
    for (const field in fields) if (!known.has(field)) wrong.push(`the header ${field} is not documented`);
    return wrong;
  }

  #checkBody(
    method: string,
    contentType: string | undefined,
    body: string | undefined,
    documented: Readonly<Record<string, DescribedContent>> | undefined,
  ): readonly string[] {
    if (documented === undefined) {
      return body === '' && contentType === undefined ? [] : ['there is a body, or a type of one, where none is due'];
    }
    const content = documented[contentType ?? ''];
    if (content === undefined) return [`the media type ${contentType} is not documented`];
    if (method === 'HEAD') return body === '' ? [] : ['a response to HEAD has a body'];
    return body === undefined ? [] : this.#checkValue('the body', content.schema, JSON.parse(body));
  }

  #checkValue(what: string, schema: object, value: unknown): readonly string[] {
    const validate = this.#validators.get(schema) ?? this.#compile(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}${instancePath} ${message}`);
  }

  #compile(schema: object): ValidateFunction {
    const text = JSON.stringify(schema);
    const validate = this.#compiled.get(text) ?? this.#ajv.compile(schema);
    this.#compiled.set(text, validate);
    this.#validators.set(schema, validate);
    return validate;
  }
}

function matches(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/').map(decode)];
  return (
    wanted.length === given.length &&
    wanted.every((segment, i) => (segment.startsWith('{') ? Boolean(given[i]) : segment === given[i]))
  );
}

/** Where a path does not support the method, it lists those that it does; a preflight has headers of its own. */
function checkAllow(
  { status, headers }: Exchanged,
  onPath: readonly Pick<DescribedOperation, 'method'>[],
): readonly string[] {
  const { allow = '' } = headers;
  if ((status !== 204 && status !== 405) || 'access-control-allow-methods' in headers) return [];
  const supported = onPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const isRight = allow.split(', ').sort().join() === [...supported, 'OPTIONS'].sort().join();
  return isRight ? [] : [`Allow is "${allow}", and the path has ${supported.join(', ')} and OPTIONS`];
}

/** @returns `undefined` where it cannot be decoded */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function codeOf({ body }: Exchanged): string {
  const { code } = JSON.parse(body ?? '{}');
  return String(code);
}
