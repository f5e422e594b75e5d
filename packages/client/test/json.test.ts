import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readBatches, readPages } from '../src/rest/order-lists.ts';
import { ConnectionError, PetstoreError, ServiceError } from '../src/rest.ts';
import { ServiceResponse } from '../src/transport/service-response.ts';

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

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const ATTEMPT = { wait: <Value>(receive: () => Promise<Value>) => receive(), end: () => {} };

/** Reads as the client does. @returns the objects, and how it ended */
async function read(bytes: Uint8Array, sizes: readonly number[]): Promise<{ values: object[]; failure?: unknown }> {
  const body = Readable.toWeb(Readable.from(pieces(bytes, sizes))) as ReadableStream; // the same, to Node
  const response = new ServiceResponse(new Response(body), ATTEMPT, 0);
  const values: object[] = [];
  try {
    for await (const batch of readBatches(response, response.readTexts())) values.push(...batch);
    return { values };
  } catch (failure) {
    return { values, failure };
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const records = fc.array(record, { maxLength: 6 });
const indent = fc.constantFrom(0, 2);

describe('a list that comes in pieces', () => {
  test('is read exactly, wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(records, sizes, indent, async (values, cut, spaces) => {
        expect(await read(encode(write(values, spaces)), cut)).toEqual({ values });
      }),
      { numRuns: 250 },
    );
  });

  test('that ends early gives only whole orders, and is never taken for the whole', async () => {
    await fc.assert(
      fc.asyncProperty(
        records,
        sizes,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (values, cut, part) => {
          const bytes = encode(write(values, 0));
          const some = await read(bytes.subarray(0, Math.floor(bytes.length * part)), cut);
          expect(some.failure).toBeInstanceOf(PetstoreError);
          expect(values.slice(0, some.values.length)).toEqual(some.values);
        },
      ),
      { numRuns: 250 },
    );
  });

  test('that ends between two orders, or within one, says that it broke off', async () => {
    for (const text of ['', '[', '[{"id":1}', '[{"id":1},', '[{"id":1},{"id"', '[{"name":"]"']) {
      expect((await read(encode(text), [3])).failure).toBeInstanceOf(ConnectionError);
    }
  });

  test('that goes on after its end, or is none, is refused', async () => {
    for (const after of ['x', ']', '[', ',', '{}']) {
      expect((await read(encode(`[{"id":1}]${after}`), [3])).failure, after).toBeInstanceOf(PetstoreError);
    }
    for (const text of ['<html>', '{"id":1}', '[null]']) {
      expect((await read(encode(text), [3])).failure, text).toBeInstanceOf(ServiceError);
    }
    expect(await read(encode(' \n[{"id":1}]\r\n '), [1])).toEqual({ values: [{ id: 1n }] });
  });

  test('is given as far as it is complete', async () => {
    const response = new ServiceResponse(new Response(), ATTEMPT, 0);
    const batches: unknown[] = [];
    for await (const batch of readBatches(response, ['[{"id":1},{"id":2}', ',{"id"', ':3}]'])) batches.push(batch);
    expect(batches).toEqual([[{ id: 1n }, { id: 2n }], [], [{ id: 3n }]]);
  });
});

test('a page is read by the reader of its items: not every id is a number', async () => {
  const keys = [{ id: '1a2B3c4D' }];
  const request = async () => {
    const response = new ServiceResponse(new Response(), ATTEMPT, 0);
    response.texts.push(JSON.stringify({ keys, next: null }));
    return response;
  };
  const readKeys = (values: unknown) => values as typeof keys; // as they are above
  const pages: unknown[] = [];
  for await (const page of readPages('keys', {}, request, readKeys)) pages.push(page);
  expect(pages).toEqual([keys]);
});
