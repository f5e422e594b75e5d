import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  actor,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  INT64_MAX,
  INT64_MIN,
  orderId,
  parseIdempotencyKey,
  parseInt64,
  petId,
} from '../src/index.ts';

describe('parseInt64', () => {
  it('reads back whatever 64-bit integer is written in decimal', () => {
    fc.assert(fc.property(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (value) => parseInt64(`${value}`) === value));
  });

  it.each(['', ' ', '0x1', '1e3', '1.0', '+1', '007', '-0', '-', '1 ', ' 1', '1_000', '１', 'abc', '9'.repeat(400)])(
    'refuses %j',
    (text) => expect(parseInt64(text)).toBeUndefined(),
  );

  it.each([9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n])('reads %s, the end of the range', (end) =>
    expect(parseInt64(`${end}`)).toBe(end),
  );

  it.each(['9223372036854775808', '-9223372036854775809'])('refuses %s, which needs a 65th bit', (text) =>
    expect(parseInt64(text)).toBeUndefined(),
  );

  it('takes nothing that it would write in another way', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789-+.ex ') }), (text) => {
        const value = parseInt64(text);
        return value === undefined || `${value}` === text;
      }),
    );
  });
});

describe('ids', () => {
  it.each([orderId, petId])('%o takes both ends of the range and nothing past them', (make) => {
    expect(make(INT64_MIN)).toBe(INT64_MIN);
    expect(make(INT64_MAX)).toBe(INT64_MAX);
    expect(() => make(INT64_MAX + 1n)).toThrow(RangeError);
    expect(() => make(INT64_MIN - 1n)).toThrow(RangeError);
  });
});

describe('idempotency keys', () => {
  it.each(['a', ' ~', 'x'.repeat(IDEMPOTENCY_KEY_LENGTH_MAX)])('%j is one', (text) =>
    expect(parseIdempotencyKey(text)).toBe(text),
  );

  it.each(['', 'é', 'a\n', '\ta', 'a\u007f', 'x'.repeat(IDEMPOTENCY_KEY_LENGTH_MAX + 1)])('%j is none', (text) =>
    expect(parseIdempotencyKey(text)).toBeUndefined(),
  );
});

it('an actor is named by its kind', () => {
  expect(actor('operator', 'ann')).toBe('operator:ann');
});
