import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { describeValueOf, type FieldDefinition, type Order, orderId, orderTextOf, petId } from '@petstore/domain';
import { anyOrder, anyValueOf, ordersInEveryState } from '@petstore/testing/any-order';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { FILE_KINDS, FLEXIBLE_FIELDS, parseValueOf } from '../src/files/order-fields.ts';
import { orderRow } from '../src/files/order-records.ts';
import { Output } from '../src/output.ts';
import { writeTable } from '../src/table.ts';

const text: FieldDefinition = { kind: 'text', minLength: 1, maxLength: 200, setBy: 'caller' };
const { toJson, toCsv, toCell, isFlexible } = FILE_KINDS.text;
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

/** What a terminal shows of orders that have one more field, a text. */
async function tableOf(rows: readonly { readonly order: Order; readonly note: string }[], columns: number) {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns });
  const printed = readText(stdout);
  const cells = rows.map(({ order, note }) => ({ ...orderRow(orderTextOf(order), true), note: toCell(note, true) }));
  const flexible = [...FLEXIBLE_FIELDS, ...(isFlexible ? ['note'] : [])];
  await writeTable(new Output({ stdout, stderr: new PassThrough() }), cells, { flexible });
  stdout.end();
  return printed;
}

/** Ids of up to ten digits, for animals six. Longer ones are not cut. */
const anyRow = fc.tuple(anyOrder, anyText).map(([order, note]) => ({
  order: { ...order, id: orderId(BigInt.asUintN(33, order.id)), petId: petId(BigInt.asUintN(19, order.petId)) },
  note,
}));

test('no table of orders is wider than 80 columns, with whatever texts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { minLength: 1, maxLength: 4 }), async (rows) => {
      const lines = (await tableOf(rows, 80)).split('\n');
      expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(80);
    }),
  );
});

test('a table of orders cuts a text only where the terminal is too narrow', async () => {
  const placedAt = new Date(0);
  const [order] = ordersInEveryState({ id: orderId(1n), petId: petId(7n), quantity: 2, placedAt }, placedAt);
  if (order === undefined) throw new Error('there is no state');
  const rows = [{ order, note: 'for the shop at the corner' }];
  const wide = await tableOf(rows, 200);
  expect(wide).toMatch(/ for the shop at the corner\n$/);
  const [, row = ''] = wide.split('\n');
  expect(await tableOf(rows, row.length - 10)).toMatch(/ for the shop at…\n$/);
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
