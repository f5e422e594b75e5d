import fc from 'fast-check';
import superjson, { type SuperJSONResult } from 'superjson';
import { describe, expect, test } from 'vitest';
import { toSuperjson } from '../src/trpc/to-superjson.ts';

const plainName = fc.oneof(fc.constantFrom('id', 'shipDate', 'toString', 'a1', 'x_y'), fc.stringMatching(/^[a-z]\w*$/));
const anyName = fc.oneof(
  plainName,
  fc.constantFrom('', 'a.b', 'a\\b', '\\', '.', '0', '7', '__proto__x', 'ä', 'a b'),
  fc.string(),
);
const leaf = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.integer(),
  fc.double(),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY, new Date(0), 2n ** 63n - 1n),
  fc.constant(/a/g),
  fc.constant(new URL('http://127.0.0.1/')),
);

/** Any value that has no part twice: superjson writes that two parts are the same, we only that they are equal. */
function tree(names: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const { node } = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      leaf.map((value) => structuredCloneOf(value)),
      fc.array(tie('node'), { maxLength: 4 }),
      fc.dictionary(names, tie('node'), { maxKeys: 4 }),
      fc.dictionary(names, tie('node'), { maxKeys: 4, noNullPrototype: true }),
      fc.array(tie('node'), { maxLength: 3 }).map((items) => new Map(items.map((item, i) => [i, item]))),
      fc.array(tie('node'), { maxLength: 3 }).map((items) => new Set(items)),
    ),
  }));
  return node;
}

function structuredCloneOf(value: unknown): unknown {
  if (value instanceof Date) return new Date(value);
  if (value instanceof RegExp) return new RegExp(value);
  return value instanceof URL ? new URL(value) : value;
}

/** What goes over the wire, but for notes that one object was met twice: shrinking may make one of two. */
function wireOf(write: (value: unknown) => SuperJSONResult, value: unknown): unknown {
  const { json, meta } = write(value);
  return JSON.parse(JSON.stringify({ json, values: meta?.values }));
}

const expected = (value: unknown) => wireOf((known) => superjson.serialize(known), value);
const actual = (value: unknown) => wireOf(toSuperjson, value);

describe('results', () => {
  test('are written as superjson writes them, whatever they hold', () => {
    fc.assert(
      fc.property(tree(plainName), (value) => {
        expect(actual(value)).toEqual(expected(value));
      }),
      { numRuns: 500 },
    );
  });

  test('are written as superjson writes them, whatever their names are', () => {
    fc.assert(
      fc.property(tree(anyName), (value) => {
        let wire: unknown;
        try {
          wire = expected(value);
        } catch {
          // Names by which a prototype could be changed.
          expect(() => toSuperjson(value)).toThrow('prototype pollution');
          return;
        }
        expect(actual(value)).toEqual(wire);
      }),
      { numRuns: 500 },
    );
  });

  test.each(['constructor', 'prototype', '__proto__'])('with a property %s are refused', (name) => {
    const value = Object.fromEntries([[name, 1n]]);
    expect(() => superjson.serialize(value)).toThrow();
    expect(() => toSuperjson([{ inner: value }])).toThrow('prototype pollution');
  });

  test('that hold one object twice are read as equals', () => {
    const at = new Date('2026-01-02T03:04:05.678Z');
    const value = { placedAt: at, shippedAt: at, nested: [at] };
    expect(superjson.deserialize(toSuperjson(value))).toEqual(value);
  });
});
