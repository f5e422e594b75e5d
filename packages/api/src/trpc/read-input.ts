import { parseInt64 } from '@petstore/domain';
import { ApiError } from '../api-error.ts';

/** How many bytes one input may take, as compact JSON in UTF-8. */
const INPUT_MAX_BYTES = 4_096;

/**
 * Reads the input of one call. Inputs are flat objects of JSON values, `bigint`, `Date` and `undefined` in superjson's
 * notation (or `undefined` itself), and this is all of it that is read: superjson builds whatever types its sender names
 * (typed arrays of any length, sets of those), long before a contract is asked. Takes time and memory linear in the
 * size of the input, and the values of fields are not descended into.
 *
 * @param encoded as JSON.parse gives it; it is changed
 * @throws ApiError `invalid_request` where it is none of that, `payload_too_large` beyond {@link INPUT_MAX_BYTES}
 */
export function readInput(encoded: unknown): unknown {
  assertSize(encoded);
  if (!isRecord(encoded) || !hasOnly(encoded, ENCODED_FIELDS)) throw notEncoded();
  const { json, meta } = encoded;
  const types = typesOf(meta);
  assertEqualities(meta, json);
  if (types === undefined) return json;
  // superjson writes `["undefined"]` where there is no input at all.
  if (Array.isArray(types)) {
    if (json === null && isType(types, 'undefined')) return undefined;
    throw notEncoded();
  }
  if (!isRecord(json)) throw notEncoded();
  for (const field in types) {
    if (!Object.hasOwn(json, field) || !PLAIN_NAME.test(field)) throw notEncoded();
    json[field] = decodeField(json[field], types[field]);
  }
  return json;
}

const ENCODED_FIELDS: ReadonlySet<string> = new Set(['json', 'meta']);
/** `v` is superjson's version. */
const META_FIELDS: ReadonlySet<string> = new Set(['values', 'v', 'referentialEqualities']);

/** A field of an object itself: superjson would take a dot for a way down. */
const PLAIN_NAME = /^[A-Za-z]\w*$/;

type Fields = Record<string, unknown>;

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hasOnly = (record: Fields, names: ReadonlySet<string>): boolean =>
  Object.keys(record).every((name) => names.has(name));

/** What is said of types: by field, of the whole, or nothing. */
function typesOf(meta: unknown): Fields | unknown[] | undefined {
  if (meta === undefined) return undefined;
  if (!isRecord(meta) || !hasOnly(meta, META_FIELDS)) throw notEncoded();
  const { values } = meta;
  if (values === undefined || Array.isArray(values) || isRecord(values)) return values;
  throw notEncoded();
}

/** superjson notes which fields have one value, such as two equal ids. Each is written all the same. */
function assertEqualities(meta: unknown, json: unknown): void {
  const { referentialEqualities } = isRecord(meta) ? meta : {};
  if (referentialEqualities === undefined) return;
  if (!isRecord(referentialEqualities) || !isRecord(json)) throw notEncoded();
  for (const [field, others] of Object.entries(referentialEqualities)) {
    if (!Array.isArray(others)) throw notEncoded();
    for (const other of others) {
      const isField = Object.hasOwn(json, field) && typeof other === 'string' && Object.hasOwn(json, other);
      if (!isField || json[field] !== json[other]) throw notEncoded();
    }
  }
}

const isType = (type: unknown, name: string): boolean => Array.isArray(type) && type.length === 1 && type[0] === name;

function decodeField(value: unknown, type: unknown): unknown {
  if (isType(type, 'bigint')) return int64Of(value);
  if (isType(type, 'Date')) {
    if (typeof value === 'string') return new Date(value);
  } else if (isType(type, 'undefined')) {
    if (value === null) return undefined;
  }
  throw notEncoded();
}

/** `BigInt(text)` would take `0x10` for 16 and the empty text for 0. */
function int64Of(value: unknown): bigint {
  const integer = typeof value === 'string' ? parseInt64(value) : undefined;
  if (integer !== undefined) return integer;
  throw new ApiError('invalid_request', 'The input holds an integer that is not a 64-bit one in decimal digits.');
}

const notEncoded = () =>
  new ApiError(
    'invalid_request',
    'The input is not a flat object as superjson encodes it; beyond JSON it may hold bigint, Date and undefined.',
  );

function assertSize(encoded: unknown): void {
  let text: string;
  try {
    text = JSON.stringify(encoded);
  } catch {
    // Nested deeper than the stack, which takes more bytes than there may be.
    throw tooLarge();
  }
  if (text.length > INPUT_MAX_BYTES || Buffer.byteLength(text) > INPUT_MAX_BYTES) throw tooLarge();
}

const tooLarge = () =>
  new ApiError('payload_too_large', `An input may take ${INPUT_MAX_BYTES} bytes at most, and a request 65536.`);
