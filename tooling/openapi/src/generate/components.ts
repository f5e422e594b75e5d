import { DEPRECATION_GUIDE_PATH, ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import type { OpenAPIObject } from 'trpc-to-openapi';

type Components = NonNullable<OpenAPIObject['components']>;
export type Headers = NonNullable<Components['headers']>;

export const SECURITY_SCHEMES = {
  bearerAuth: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key, sent as the bearer token (RFC 6750): `Authorization: Bearer <API_KEY>`. Keys are opaque, begin with ' +
      '`pso_live_` or `pso_demo_`, and can be rotated and revoked.',
  },
} satisfies NonNullable<Components['securitySchemes']>;

/** The requirement of every operation, unless the operation says that it needs no key. */
export const SECURITY = [{ bearerAuth: [] }] satisfies NonNullable<OpenAPIObject['security']>;

/** One for each status that the specification names. */
const EXAMPLES = ['invalid_api_key', 'order_not_found', 'order_already_shipped', 'rate_limit_exceeded'] as const;

/**
 * The Error object of the specification.
 *
 * @param codes all codes that a response may have
 */
export const errorSchema = (codes: readonly ErrorCode[]) =>
  ({
    type: 'object',
    description: 'The body of every error response.',
    properties: {
      code: { type: 'string', enum: [...codes], description: 'Machine-readable error code.' },
      message: {
        type: 'string',
        maxLength: 1000,
        pattern: '\\S',
        description: 'Human-readable description of the error. It may change; branch on `code` instead.',
      },
      status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599, description: 'The HTTP status code.' },
    },
    required: ['code', 'message', 'status'],
    examples: EXAMPLES.map((code) => errorObject(code)),
  }) satisfies NonNullable<Components['schemas']>[string];

/** The Error object of one response, with the codes of this response only: generated clients then know them. */
export const errorSchemaOf = (codes: readonly ErrorCode[]) => ({
  allOf: [
    { $ref: '#/components/schemas/Error' },
    { type: 'object' as const, properties: { code: { type: 'string' as const, enum: [...codes] } } },
  ],
});

/** A failure as it is reported. @param message more precise than the catalogue's message */
export const errorObject = (code: ErrorCode, message: string = ERROR_CATALOGUE[code].message) => ({
  code,
  message,
  status: ERROR_CATALOGUE[code].status,
});

const COUNT = { type: 'integer', format: 'int32', maximum: 1_000_000_000 } as const;

/** The headers of every response. */
const COMMON_HEADERS = {
  'X-RateLimit-Limit': {
    description: 'The limit of the window that is closest to being exhausted, in requests.',
    required: true,
    schema: { ...COUNT, minimum: 1 },
    example: 60,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests remaining in that window.',
    required: true,
    schema: { ...COUNT, minimum: 0 },
    example: 59,
  },
  'X-RateLimit-Reset': {
    description:
      'Unix timestamp, in seconds, at which the limit resets: when the next request becomes available; on a 429, when ' +
      'this request can be retried.',
    required: true,
    // Until the end of the year 9999, the last that our clocks support.
    schema: { type: 'integer', format: 'int64', minimum: 0, maximum: 253_402_300_799 },
    example: 1_796_115_660,
  },
  'RateLimit-Policy': {
    description: 'Both sliding windows, as a structured field (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string', maxLength: 128, pattern: '^"minute";q=\\d+;w=60(, "day";q=\\d+;w=86400)?$' },
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  },
  RateLimit: {
    description: 'Requests remaining in each window, as a structured field (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string', maxLength: 128, pattern: '^"minute";r=\\d+;t=\\d+(, "day";r=\\d+;t=\\d+)?$' },
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  },
  'X-Request-Id': {
    description:
      'Identifies the request. An inbound id is kept if it is 1 to 64 letters, digits, "_" or "-", and not an API key.',
    required: true,
    schema: { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9_-]{1,64}$' },
    example: '3f0c2a52-7d3e-4c55-9e0b-6f1f0e3c8a11',
  },
  'Access-Control-Allow-Origin': {
    description: 'The origin of the request, if it may call from a browser.',
    schema: { type: 'string', maxLength: 300, pattern: '^https?://[^/]+$' },
    example: 'https://shop.example',
  },
} as const satisfies Headers;

const DEPRECATION_GUIDE = `<../..${DEPRECATION_GUIDE_PATH}>`;

/** The headers of every response of a deprecated operation. */
const DEPRECATION_HEADERS = {
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    required: true,
    schema: { type: 'string', maxLength: 16, pattern: '^@\\d+$' },
    example: '@1782777600',
  },
  Sunset: {
    description: 'When the operation ends, as an HTTP-date (RFC 8594). After that, the status is 410.',
    required: true,
    schema: {
      type: 'string',
      maxLength: 29,
      pattern: '^[A-Z][a-z]{2}, \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT$',
    },
    example: 'Wed, 30 Jun 2027 00:00:00 GMT',
  },
  Link: {
    description: 'Where deprecation and sunset are explained (RFC 8288, RFC 9745, RFC 8594).',
    required: true,
    schema: { type: 'string', maxLength: 1000, pattern: 'rel="deprecation".*rel="sunset"' },
    example: `${DEPRECATION_GUIDE}; rel="deprecation"; type="text/html", ${DEPRECATION_GUIDE}; rel="sunset"; type="text/html"`,
  },
} as const satisfies Headers;

const RETRY_AFTER = {
  description: 'Whole seconds to wait before a retry (RFC 9110 section 10.2.3).',
  required: true,
  schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 2_147_483_647 },
  example: 12,
} as const satisfies Headers[string];

const CHALLENGE = {
  description: 'The challenge of RFC 6750 section 3.',
  required: true,
  schema: { type: 'string', maxLength: 500, pattern: '^Bearer ' },
  example: 'Bearer realm="petstore"',
} as const satisfies Headers[string];

const ALLOW = {
  description: 'On a 405, the methods that the path supports (RFC 9110 section 10.2.1).',
  schema: { type: 'string', maxLength: 100, pattern: '^[A-Z]+(, [A-Z]+)*$' },
  example: 'GET, HEAD, OPTIONS',
} as const satisfies Headers[string];

/** By the names in responses. Links of other kinds must not be taken for those of a deprecation. */
export const HEADER_COMPONENTS: Headers = {
  ...COMMON_HEADERS,
  'Retry-After': RETRY_AFTER,
  'WWW-Authenticate': CHALLENGE,
  Allow: ALLOW,
  Deprecation: DEPRECATION_HEADERS.Deprecation,
  Sunset: DEPRECATION_HEADERS.Sunset,
  DeprecationLink: DEPRECATION_HEADERS.Link,
  OptionalDeprecation: { ...DEPRECATION_HEADERS.Deprecation, required: false },
  OptionalSunset: { ...DEPRECATION_HEADERS.Sunset, required: false },
  OptionalDeprecationLink: { ...DEPRECATION_HEADERS.Link, required: false },
};

const referTo = (name: string) => ({ $ref: `#/components/headers/${name}` });
const refer = (names: readonly string[]): Headers => Object.fromEntries(names.map((name) => [name, referTo(name)]));

const COMMON_REFS = refer(Object.keys(COMMON_HEADERS));
const DEPRECATION_REFS: Headers = { ...refer(['Deprecation', 'Sunset']), Link: referTo('DeprecationLink') };
/** A request that was refused before its path was known gets no headers of a deprecation. */
const OPTIONAL_DEPRECATION_REFS: Headers = {
  Deprecation: referTo('OptionalDeprecation'),
  Sunset: referTo('OptionalSunset'),
  Link: referTo('OptionalDeprecationLink'),
};

const REFS_OF_STATUS: Readonly<Record<string, Headers>> = {
  401: refer(['WWW-Authenticate']),
  403: refer(['WWW-Authenticate']),
  429: refer(['Retry-After']),
  503: refer(['Retry-After']),
  default: refer(['Allow']),
};

/** The headers of a response, as references to {@link HEADER_COMPONENTS}. */
export function headersOf(status: number | 'default', isDeprecated: boolean): Headers {
  const deprecation = status === 'default' ? OPTIONAL_DEPRECATION_REFS : DEPRECATION_REFS;
  return { ...COMMON_REFS, ...REFS_OF_STATUS[status], ...(isDeprecated && deprecation) };
}
