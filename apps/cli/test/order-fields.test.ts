import { describeValueOf, type FieldDefinition } from '@petstore/domain';
import { anyValueOf } from '@petstore/testing/any-order';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FILE_KINDS, parseValueOf } from '../src/files/order-fields.ts';

const text: FieldDefinition = { kind: 'text', minLength: 1, maxLength: 200, setBy: 'caller' };
const { toJson, toCsv, toCell } = FILE_KINDS.text;
const anyText = anyValueOf(text).filter((value): value is string => typeof value === 'string');

test('any text comes back from JSON, without a character that an import takes for bytes that are not UTF-8', () => {
  fc.assert(
    fc.property(anyText, (value) => {
      const json = toJson(value);
      expect(JSON.parse(json)).toBe(value);
      expect(json).not.toMatch(/[\ufffd\n]/);
    }),
  );
});

test('any text comes back from CSV, unless CSV cannot hold it, which is said', () => {
  fc.assert(
    fc.property(anyText, (value) => {
      if (value.includes('\ufffd')) {
        expect(() => toCsv(value, 'the note of order 7')).toThrow(/^the note of order 7 has a character/);
        return;
      }
      expect(parse(`${toCsv(value, 'it')},2\n`)).toEqual([[value, '2']]);
    }),
  );
});

test('a text in a table is the text', () => {
  expect(toCell('a, "b"', true)).toBe('a, "b"');
});

test.each([
  ['a', 'a'],
  ['', undefined],
  ['a\0b', undefined],
  ['a\ud800', undefined],
  ['\u{1f436}'.repeat(200), '\u{1f436}'.repeat(200)],
  ['\u{1f436}'.repeat(201), undefined],
])('%j is read as %j', (given, value) => {
  expect(parseValueOf(text, given)).toBe(value);
});

test('a message names what a text must be', () => {
  expect(FILE_KINDS.text.expected(text)).toBe(describeValueOf(text));
});
