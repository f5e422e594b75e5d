import type { OpenAPIObject } from 'trpc-to-openapi';
import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';

type Components = NonNullable<OpenAPIObject['components']>;
type Headers = NonNullable<Components['headers']>;

/** What the operations are grouped by. `Store` and `Pets` are sections of the specification that hold none. */
export const TAGS: NonNullable<OpenAPIObject['tags']> = [
  { name: 'orders', description: 'List the orders placed in the store, and cancel one.' },
  { name: 'Store', description: 'The store that orders are placed in. It has no operations of its own.' },
  { name: 'Pets', description: 'The pets that orders are about. It has no operations of its own.' },
  { name: 'deprecated', description: 'Operations with a sunset date, which every answer tells in its headers.' },
];

export const SECURITY_SCHEME = 'bearerAuth';

/** Codes that only procedures without a REST route answer with. */
const TRPC_ONLY_CODES: readonly ErrorCode[] = ['insufficient_scope', 'order_not_shipped', 'order_already_completed'];

const REST_CODES = (Object.keys(ERROR_CATALOGUE) as ErrorCode[]) // the catalogue's own keys
  .filter((code) => !TRPC_ONLY_CODES.includes(code));

/** The Error object of the specification. */
export const ERROR_SCHEMA = {
  type: 'object',
  description: 'What every failure is answered with.',
  properties: {
    code: { type: 'string', enum: REST_CODES, description: 'Machine-readable error code.' },
    message: { type: 'string', description: 'Human-readable description of the error.' },
    status: { type: 'integer', description: 'The HTTP status code.' },
  },
  required: ['code', 'message', 'status'],
} satisfies NonNullable<Components['schemas']>[string];

/** Sent with every answer. */
const COMMON_HEADERS = {
  'X-RateLimit-Limit': { description: 'The limit in force.', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests remaining.', schema: { type: 'integer', minimum: 0 } },
  'X-RateLimit-Reset': {
    description: 'Unix timestamp, in seconds, at which the limit resets.',
    schema: { type: 'integer', format: 'int64' },
  },
  'RateLimit-Policy': {
    description: 'Both sliding windows, as a structured field (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  },
  RateLimit: {
    description: 'What remains in each window, as a structured field (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  },
  'X-Request-Id': {
    description: 'Names the request. An inbound one is kept if it is 1 to 64 letters, digits, "_" or "-".',
    schema: { type: 'string' },
  },
} as const satisfies Headers;

const ERROR_HEADERS = {
  'Retry-After': { description: 'Whole seconds to wait before a retry.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': { description: 'The challenge of RFC 6750 section 3.', schema: { type: 'string' } },
} as const satisfies Headers;

const DEPRECATION_HEADERS = {
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string' },
    example: '@1782777600',
  },
  Sunset: { description: 'When the operation ends (RFC 8594).', schema: { type: 'string' } },
  Link: { description: 'Where the deprecation is explained (RFC 9745).', schema: { type: 'string' } },
} as const satisfies Headers;

export const HEADERS: Headers = { ...COMMON_HEADERS, ...ERROR_HEADERS, ...DEPRECATION_HEADERS };

const refer = (names: readonly string[]): Headers =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers of an answer with a status, as references to {@link HEADERS}. */
export function headersOf(status: number | 'default', deprecated: boolean): Headers {
  return refer([
    ...Object.keys(COMMON_HEADERS),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
    ...(deprecated ? Object.keys(DEPRECATION_HEADERS) : []),
  ]);
}
