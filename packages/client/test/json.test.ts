import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseInt64Objects } from '../src/rest/int64-json.ts';
import { JsonArraySplitter } from '../src/rest/json-array-splitter.ts';

const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -20n, max: 20n }),
  fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 10n ** 15n, 10n ** 16n),
);

/** Texts with all that might mislead who looks for brackets, quotation marks and ids. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', ':', '"id":', '1234567890123456789', '🐶', '\n'), {
      maxLength: 12,
    })
    .map((parts) => parts.join('')),
);

/** More than the service sends today: other fields, and in any order. */
const record = fc.record(
  {
    id: int64,
    petId: int64,
    name: text,
    ok: fc.boolean(),
    amount: fc.integer(),
    tags: fc.array(text, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

/** As the service writes it, 64-bit integers being bare digits, or with all the blanks that JSON allows. */
const write = (values: readonly object[], indent: number): string => {
  const marked = JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}n!` : value), indent);
  return marked.replaceAll(/"(-?\d+)n!"/g, '$1');
};

/** Cuts bytes at any place, also within a character. */
function* pieces(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** Reads as the client does. @returns the objects, and whether that was all */
function read(bytes: Uint8Array, sizes: readonly number[]): { values: object[]; isComplete: boolean } {
  const splitter = new JsonArraySplitter();
  const decoder = new TextDecoder();
  const values: object[] = [];
  for (const piece of pieces(bytes, sizes)) {
    const elements = splitter.push(decoder.decode(piece, { stream: true }));
    if (elements !== '') values.push(...parseInt64Objects(`[${elements}]`));
  }
  return { values, isComplete: splitter.isComplete };
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const records = fc.array(record, { maxLength: 6 });
const indent = fc.constantFrom(0, 2);

describe('a list that comes in pieces', () => {
  test('is read exactly, wherever it is cut', () => {
    fc.assert(
      fc.property(records, sizes, indent, (values, cut, spaces) => {
        const bytes = new TextEncoder().encode(write(values, spaces));
        expect(read(bytes, cut)).toEqual({ values, isComplete: true });
      }),
      { numRuns: 500 },
    );
  });

  test('that ends early gives only whole orders, and is never taken for the whole', () => {
    fc.assert(
      fc.property(
        records,
        sizes,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (values, cut, part) => {
          const bytes = new TextEncoder().encode(write(values, 0));
          const some = read(bytes.subarray(0, Math.floor(bytes.length * part)), cut);
          expect(some.isComplete).toBe(false);
          expect(values.slice(0, some.values.length)).toEqual(some.values);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('that goes on after its end is refused', () => {
    for (const after of ['x', ']', '[', ',', '{}']) {
      expect(() => read(new TextEncoder().encode(`[{"id":1}]${after}`), [3])).toThrow(SyntaxError);
    }
    expect(read(new TextEncoder().encode(' \n[{"id":1}]\r\n '), [1])).toEqual({
      values: [{ id: 1n }],
      isComplete: true,
    });
  });

  test('is kept only as far as it is not complete', () => {
    const splitter = new JsonArraySplitter();
    expect(splitter.push('[{"id":1},{"id":2}')).toBe('{"id":1}');
    expect(splitter.push(',{"id"')).toBe('{"id":2}');
    expect(splitter.push(':3}]')).toBe('{"id":3}');
  });
});
