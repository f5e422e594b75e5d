import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  definitionOf,
  describeValueOf,
  type FieldDefinition,
  fingerprintOf,
  INSTANT_MAX,
  INSTANT_MIN,
  INT64_MAX,
  INT64_MIN,
  isValueOf,
  ORDER_FIELD_NAMES,
  ORDER_FIELDS,
  ORDER_STATES,
  ORDER_STATUSES,
  ORDER_TIME_FIELDS,
  type OrderField,
  petId,
} from '../src/index.ts';

const text: FieldDefinition = { kind: 'text', minLength: 2, maxLength: 4, setBy: 'caller' };
const quantity = definitionOf('quantity');
const time = definitionOf('shipDate');
const id = definitionOf('id');

describe('a value of a field', () => {
  test.each<[string, FieldDefinition, unknown]>([
    ['the smallest 64-bit integer', id, INT64_MIN],
    ['the largest', id, INT64_MAX],
    ['the smallest number', quantity, 1],
    ['the largest number', quantity, 2_147_483_647],
    ['the first time', time, INSTANT_MIN],
    ['the last time', time, INSTANT_MAX],
    ['a boolean', definitionOf('complete'), false],
    ['a status', definitionOf('status'), 'shipped'],
    ['the shortest text', text, 'ab'],
    ['the longest text, in code points', text, '\u{1f436}\u{1f431}\u{1f439}\u{1f430}'],
    ['a text of what other formats escape', text, '",\n\\'],
  ])('%s can be it', (_, definition, value) => {
    expect(isValueOf(definition, value)).toBe(true);
  });

  test.each<[string, FieldDefinition, unknown]>([
    ['an integer of more than 64 bits', id, INT64_MAX + 1n],
    ['a number for an id', id, 1],
    ['a number that is too small', quantity, 0],
    ['a number that is too large', quantity, 2_147_483_648],
    ['a fraction', quantity, 1.5],
    ['NaN', quantity, Number.NaN],
    ['a time before the first', time, new Date(INSTANT_MIN.getTime() - 1)],
    ['a time after the last', time, new Date(INSTANT_MAX.getTime() + 1)],
    ['no date at all', time, new Date(Number.NaN)],
    ['the text of a time', time, '2026-01-01T00:00:00.000Z'],
    ['the text of a boolean', definitionOf('complete'), 'true'],
    ['an unknown status', definitionOf('status'), 'lost'],
    ['a name that every object has', definitionOf('status'), 'constructor'],
    ['a text that is too short', text, 'a'],
    ['a text that is too long', text, 'abcde'],
    ['NUL', text, 'a\0b'],
    ['an unpaired surrogate', text, 'ab\ud800'],
    ['a number for a text', text, 12],
  ])('%s cannot be it', (_, definition, value) => {
    expect(isValueOf(definition, value)).toBe(false);
  });

  test.each<[FieldDefinition, string]>([
    [id, 'a 64-bit integer'],
    [quantity, 'a whole number from 1 to 2147483647'],
    [time, 'a time from 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z'],
    [definitionOf('complete'), 'true or false'],
    [definitionOf('status'), `one of ${ORDER_STATUSES.join(', ')}`],
    [text, 'a text of 2 to 4 characters, without NUL'],
  ])('of %o is described as %s', (definition, description) => {
    expect(describeValueOf(definition)).toBe(description);
  });
});

test('every time that a state has is a field, and every such field belongs to a state', () => {
  const times = Object.values(ORDER_STATES).flatMap((state): readonly string[] => state.times);
  expect([...new Set(['placedAt', ...times, 'completedAt'])].sort()).toEqual([...ORDER_TIME_FIELDS].sort());
  const optional = ORDER_FIELD_NAMES.filter((name) => definitionOf(name).setBy === 'state' && !isAlwaysThere(name));
  expect(optional.every((name) => definitionOf(name).optional)).toBe(true);
});

const isAlwaysThere = (name: OrderField) => ['boolean', 'status'].includes(ORDER_FIELDS[name].kind);

describe('the fingerprint of a request', () => {
  const request = { petId: petId(7n), quantity: 2 };
  const shipDate = new Date('2026-01-02T03:04:05.678Z');

  test('leaves out what the request does, so that it stays the same when orders get another optional field', () => {
    expect(fingerprintOf(request)).toBe('{"petId":"7","quantity":2}');
    expect(fingerprintOf({ ...request, shipDate })).toBe(
      '{"petId":"7","quantity":2,"shipDate":"2026-01-02T03:04:05.678Z"}',
    );
  });

  test('is that of the values alone: neither of their order nor of other properties', () => {
    const other = { placedAt: new Date(), shipDate, quantity: 2, petId: petId(7n) };
    expect(fingerprintOf(other)).toBe(fingerprintOf({ ...request, shipDate }));
  });

  test('differs if any value does', () => {
    const anyRequest = fc.record({ petId: fc.bigInt({ min: -2n, max: 2n }).map(petId), quantity: fc.integer() });
    fc.assert(
      fc.property(anyRequest, anyRequest, (a, b) => {
        const isSame = a.petId === b.petId && a.quantity === b.quantity;
        expect(fingerprintOf(a) === fingerprintOf(b)).toBe(isSame);
      }),
    );
  });
});
