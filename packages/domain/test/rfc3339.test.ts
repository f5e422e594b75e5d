import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INSTANT_MAX, INSTANT_MIN, parseRfc3339 } from '../src/index.ts';

describe('parseRfc3339', () => {
  it.each([
    ['2026-03-04T05:06:07Z', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04t05:06:07z', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06:07.5Z', '2026-03-04T05:06:07.500Z'],
    ['2026-03-04T05:06:07.089Z', '2026-03-04T05:06:07.089Z'],
    ['2026-03-04T05:06:07.089999999Z', '2026-03-04T05:06:07.089Z'],
    ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000Z'],
    ['2026-03-04T05:06:07+00:00', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06:07-00:00', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06:07+05:30', '2026-03-03T23:36:07.000Z'],
    ['2026-03-04T05:06:07-05:30', '2026-03-04T10:36:07.000Z'],
    ['2026-03-04T05:06:07.1+23:59', '2026-03-03T05:07:07.100Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('reads %s as the moment %s', (text, iso) => {
    expect(parseRfc3339(text)?.toISOString()).toBe(iso);
  });

  it('reads back every moment that a ship date may be, whatever the offset that it is written with', () => {
    const dates = fc.date({ min: INSTANT_MIN, max: INSTANT_MAX, noInvalidDate: true });
    const offsets = fc.record({
      sign: fc.constantFrom(1, -1),
      hours: fc.integer({ min: 0, max: 23 }),
      minutes: fc.integer({ min: 0, max: 59 }),
    });
    fc.assert(
      fc.property(dates, offsets, (date, { sign, hours, minutes }) => {
        expect(parseRfc3339(date.toISOString())).toEqual(date);
        const local = new Date(date.getTime() + sign * (hours * 3_600_000 + minutes * 60_000));
        fc.pre(local >= INSTANT_MIN && local <= INSTANT_MAX); // a year of four digits
        const pad = (part: number) => String(part).padStart(2, '0');
        const offset = `${sign > 0 ? '+' : '-'}${pad(hours)}:${pad(minutes)}`;
        expect(parseRfc3339(local.toISOString().replace('Z', offset))).toEqual(date);
      }),
    );
  });

  it.each([
    ['2026-02-30T00:00:00Z', 'a day that does not exist'],
    ['2026-02-29T00:00:00Z', 'a leap day in a year without one'],
    ['2026-13-01T00:00:00Z', 'a month that does not exist'],
    ['2026-00-01T00:00:00Z', 'a month that does not exist'],
    ['2026-03-04T24:00:00Z', 'an hour that does not exist'],
    ['2026-02-30T00:00:00.000Z', 'a day that does not exist, with milliseconds'],
    ['2026-03-04T24:00:00.000Z', 'an hour that does not exist, with milliseconds'],
    ['2026-03-04T05:06:60.000Z', 'a second that does not exist, with milliseconds'],
    ['2026-03-04T05:60:00Z', 'a minute that does not exist'],
    ['2026-03-04T05:06:60Z', 'a second that a Date cannot hold'],
    ['2026-03-04T05:06:07+24:00', 'an offset of a day'],
    ['2026-03-04T05:06:07+05:60', 'an offset of 60 minutes'],
    ['2026-03-04T05:06:07', 'no offset'],
    ['2026-03-04', 'no time'],
    ['2026-03-04 05:06:07Z', 'a blank for the T'],
    ['2026-03-04T05:06Z', 'no seconds'],
    ['2026-03-04T05:06:07.Z', 'a point without decimals'],
    ['2026-03-04T05:06:07.0123456789Z', 'ten decimals'],
    ['2026-03-04T05:06:07,5Z', 'a comma for the point'],
    ['2026-03-04T05:06:07+0530', 'an offset without its colon'],
    ['2026-03-04T05:06:07+5:30', 'an offset of one digit'],
    ['+002026-03-04T05:06:07Z', 'a year of six digits'],
    [' 2026-03-04T05:06:07Z', 'a blank before it'],
    ['2026-03-04T05:06:07Z\n', 'a line break behind it'],
    ['٢٠٢٦-03-04T05:06:07Z', 'digits of another script'],
    ['', 'nothing'],
  ])('refuses %j: %s', (text) => {
    expect(parseRfc3339(text)).toBeUndefined();
  });
});
