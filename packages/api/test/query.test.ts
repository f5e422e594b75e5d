import { INT64_MAX, INT64_MIN } from '@petstore/domain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createQueryReader, writeQuery } from '../src/rest/query.ts';

const SHAPE = {
  petId: z.int64().optional(),
  limit: z.int().default(100),
  complete: z.boolean().optional(),
  from: z.date().optional(),
  text: z.string().optional(),
  status: z.array(z.enum(['pending', 'shipped'])).optional(),
};
const read = createQueryReader(SHAPE);

describe('a query', () => {
  test.each<[string, object]>([
    ['', {}],
    ['limit=5', { limit: 5 }],
    ['petId=9223372036854775807', { petId: INT64_MAX }],
    ['complete=true', { complete: true }],
    ['from=2026-12-01T00:00:00Z', { from: new Date('2026-12-01T00:00:00Z') }],
    ['from=2026-12-01T01:30:00+01:30', { from: new Date('2026-12-01T00:00:00Z') }],
    ['status=pending&limit=1&status=shipped', { status: ['pending', 'shipped'], limit: 1 }],
    ['%6Cimit=%35', { limit: 5 }],
    ['text=a=b', { text: 'a=b' }],
    ['text', { text: '' }],
  ])('%s is read by its types', (query, input) => {
    expect(read(query)).toEqual(input);
  });

  test.each([
    ...['limit=05', 'limit=%2B5', 'limit=5.0', 'limit=', 'limit=9007199254740993000'],
    ...['petId=1.0', 'petId=9223372036854775808', 'petId='],
    ...['complete=TRUE', 'complete=1', 'complete=', 'complete=constructor'],
    ...['from=2026-12-01', 'from=2026-02-30T00:00:00Z'],
  ])('%s is left as the text that it is, which the schema refuses', (query) => {
    const [name = '', text = ''] = query.split('=');
    expect(read(query)).toEqual({ [name]: decodeURIComponent(text) });
    expect(z.strictObject(SHAPE).safeParse(read(query)).success).toBe(false);
  });

  test.each(['limit=1&limit=2', 'limit=1&limit=1', 'text=&text=', 'limit=x&limit=y'])(
    '%s is refused: what is no list may be given only once',
    (query) => {
      expect(() => read(query)).toThrow(/^(?:limit|text): may be given only once\.$/);
    },
  );

  test.each([
    ['page=2', 'page: unknown parameter.'],
    ['Limit=2', 'Limit: unknown parameter.'],
    ['filter[status]=pending', 'filter[status]: unknown parameter.'],
    ['pso_live_abcd1234=1', 'The query contains an unknown parameter.'],
    ['pso_live_abcd1234[]=pending', 'The query contains an unknown parameter.'],
    ['__proto__=1', '__proto__: unknown parameter.'],
    ['constructor=1', 'constructor: unknown parameter.'],
    ['=1', 'The query contains an unknown parameter.'],
  ])('%s is refused with the parameters that there are', (query, start) => {
    expect(() => read(query)).toThrow(`${start} This operation accepts petId, limit, complete, from, text, status.`);
  });

  test.each([
    [
      'status[]=pending',
      'status[]: must be written without brackets; repeat it for several values: status=A&status=B.',
    ],
    ['limit[]=5', 'limit[]: must be written without brackets.'],
  ])('%s is refused with how it is written', (query, message) => {
    expect(() => read(query)).toThrow(message);
  });

  test('never has a key repeated, wherever it stands', () => {
    const key = `pso_live_abcd1234_${'x'.repeat(38)}`;
    for (const query of [key, `${key}=1`, `limit=1&${key}`]) {
      expect(() => read(query)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('x'.repeat(9)) }),
      );
    }
  });

  test.each(['limit=%', 'limit=%zz', '%C0%80=1', 'text=%ff'])('%s is refused: it cannot be decoded', (query) => {
    expect(() => read(query)).toThrow('The query is not percent-encoded correctly.');
  });

  test('that is written is read as it was, whatever its values', () => {
    const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const inputs = fc.record({
      petId: optional(fc.bigInt({ min: INT64_MIN, max: INT64_MAX })),
      limit: optional(fc.integer()),
      complete: optional(fc.boolean()),
      from: optional(fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })),
      text: optional(fc.string({ unit: 'grapheme' })),
      status: optional(fc.array(fc.constantFrom('pending', 'shipped'), { minLength: 1 })),
    });
    fc.assert(
      fc.property(inputs, (input) => {
        expect(read(writeQuery(input))).toEqual(
          Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)),
        );
      }),
    );
  });
});

test('a parameter of a type that a query does not hold is refused at start', () => {
  expect(() => createQueryReader({ nested: z.object({}) })).toThrow('nested has a type');
});
