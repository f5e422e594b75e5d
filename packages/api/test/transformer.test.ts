import { serialize } from 'node:v8';
import fc from 'fast-check';
import superjson from 'superjson';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../src/index.ts';
import { assertWellFormed, transformer } from '../src/trpc/transformer.ts';

/** Reads an input as a call does. */
function readInput(encoded: unknown): unknown {
  const input = transformer.deserialize(encoded);
  assertWellFormed(input);
  return input;
}

const parsed = (text: string): unknown => JSON.parse(text);

/** The error code that an input is refused with, or its value. */
function outcomeOf(encoded: unknown): { readonly value: unknown } | { readonly errorCode: string } {
  try {
    return { value: readInput(encoded) };
  } catch (error) {
    if (error instanceof ApiError) return { errorCode: error.errorCode };
    throw error;
  }
}

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const jsonLeaf = fc.oneof(fc.string(), fc.boolean(), fc.constant(null), fc.integer());
const field = fc.oneof(
  jsonLeaf,
  fc.array(jsonLeaf, { maxLength: 4 }),
  int64,
  fc.date({ noInvalidDate: true }),
  fc.constant(undefined),
);
const flatObject = fc.dictionary(fc.stringMatching(/^[A-Za-z]\w{0,8}$/), field, { maxKeys: 6, noNullPrototype: true });

describe('an input', () => {
  test('is read as superjson reads it, if it is a flat object of what contracts have', () => {
    fc.assert(
      fc.property(fc.oneof(flatObject, fc.constant(undefined)), (input) => {
        const text = JSON.stringify(superjson.serialize(input));
        expect(readInput(parsed(text))).toStrictEqual(superjson.deserialize(JSON.parse(text)));
      }),
    );
  });

  test('may hold one value twice, which superjson notes', () => {
    const at = new Date('2026-01-02T03:04:05.678Z');
    const input = { orderId: 5n, petId: 5n, from: at, to: at };
    const encoded = superjson.serialize(input);
    expect(encoded.meta).toHaveProperty('referentialEqualities');
    expect(readInput(parsed(JSON.stringify(encoded)))).toStrictEqual(input);
  });

  test.each([{ a: ['b'] }, [['a']], 5])('is read without the references %j', (references) => {
    const json = { a: [1], b: 2 };
    expect(readInput({ json, meta: { referentialEqualities: references, v: 1 } })).toStrictEqual({ a: [1], b: 2 });
  });

  test('may take 4096 bytes, and no more', () => {
    const ofBytes = (bytes: number) => ({ json: { a: 'x'.repeat(bytes - '{"json":{"a":""}}'.length) } });
    expect(outcomeOf(ofBytes(4_096))).toHaveProperty('value');
    expect(outcomeOf(ofBytes(4_097))).toEqual({ errorCode: 'payload_too_large' });
    // Counted in bytes, not in letters.
    expect(outcomeOf({ json: { a: 'ä'.repeat(2_048) } })).toEqual({ errorCode: 'payload_too_large' });
  });

  const bigint = { values: { a: ['bigint'] } };
  test.each([
    ['a typed array of any length', { json: { a: 3e9 }, meta: { values: { a: [['typed-array', 'Uint8Array']] } } }],
    ['a set', { json: { a: [1] }, meta: { values: { a: ['set'] } } }],
    ['a class', { json: { a: {} }, meta: { values: { a: [['class', 'Buffer']] } } }],
    ['a type within a type', { json: { a: '1' }, meta: { values: { a: ['bigint', {}] } } }],
    ['a type below a field', { json: { a: { b: '1' } }, meta: { values: { 'a.b': ['bigint'] } } }],
    ['the type of a field that is not there', { json: {}, meta: bigint }],
    ['the type of an inherited field', { json: {}, meta: { values: { toString: ['undefined'] } } }],
    ['the type of a constructor', { json: { constructor: '1' }, meta: { values: { constructor: ['bigint'] } } }],
    ['a bigint by itself', { json: '1', meta: { values: ['bigint'] } }],
    ['a bigint in hexadecimal', { json: { a: '0x1' }, meta: bigint }],
    ['a bigint of a million digits less than fit', { json: { a: '9'.repeat(4_000) }, meta: bigint }],
    ['a Date of a number', { json: { a: 1 }, meta: { values: { a: ['Date'] } } }],
    ['undefined of a text', { json: { a: 'x' }, meta: { values: { a: ['undefined'] } } }],
    ['types that are none', { json: { a: 1 }, meta: { values: 5 } }],
    ['a text by itself', { json: 'text' }],
    ['nothing of superjson', { orderId: 1 }],
    ['null', null],
  ])('is refused where it names %s', (_, encoded) => {
    expect(outcomeOf(encoded)).toEqual({ errorCode: 'invalid_request' });
  });

  test.each([
    ['a field', '{"json":{"__proto__":"1","a":1}}'],
    ['a field and its type', '{"json":{"__proto__":"1","a":1},"meta":{"values":{"__proto__":["bigint"]}}}'],
    ['a type', '{"json":{"a":1},"meta":{"values":{"__proto__":["bigint"]}}}'],
  ])('is refused, and nothing of it dropped, if it names __proto__ as %s', (_, text) => {
    expect(outcomeOf(parsed(text))).toEqual({ errorCode: 'invalid_request' });
  });

  test('is refused for its size where it is nested deeper than the stack', () => {
    const text = `{"json":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    expect(outcomeOf(parsed(text))).toEqual({ errorCode: 'payload_too_large' });
  });

  test('never becomes more than was sent, whatever types, depths, references and digits it names', () => {
    const path = fc.oneof(fc.constantFrom('a', 'b', 'a.b', 'a.0', 'p.a', '__proto__', 'constructor'), fc.string());
    const type = fc.oneof(
      fc.constantFrom('bigint', 'Date', 'undefined', 'set', 'map', 'regexp', 'number', 'URL', 'Error'),
      fc.tuple(
        fc.constantFrom('typed-array', 'class', 'custom', 'symbol'),
        fc.constantFrom('Uint8Array', 'Float64Array'),
      ),
    );
    const { types } = fc.letrec((tie) => ({
      types: fc.oneof(
        { maxDepth: 3 },
        fc.tuple(type),
        fc.tuple(type, fc.dictionary(path, tie('types'), { maxKeys: 3 })),
        fc.dictionary(path, tie('types'), { maxKeys: 3 }),
      ),
    }));
    const value = fc.oneof(
      fc.nat(400_000_000),
      fc.nat(3_000).map((digits) => '9'.repeat(digits)),
      fc.array(fc.nat(), { maxLength: 300 }),
      fc.jsonValue({ maxDepth: 6 }),
      fc.integer({ min: 1, max: 1_500 }).map((depth) => parsed(`${'['.repeat(depth)}${']'.repeat(depth)}`)),
    );
    const body = fc.record(
      {
        json: fc.oneof(value, fc.dictionary(fc.constantFrom('a', 'b', 'p'), value)),
        meta: fc.record(
          { values: types, referentialEqualities: fc.dictionary(path, fc.array(path)), v: fc.nat() },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: ['json'] },
    );
    fc.assert(
      fc.property(body, (sent) => {
        const text = JSON.stringify(sent);
        const outcome = outcomeOf(parsed(text));
        if (!('value' in outcome)) return;
        // A Date and a bigint take a few bytes more than their text.
        expect(serialize(outcome.value).byteLength).toBeLessThan(20 * text.length + 100);
        expect(text.length).toBeLessThanOrEqual(4_096 * 2);
      }),
      { numRuns: 250 },
    );
  });
});
