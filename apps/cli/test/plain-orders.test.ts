import { orderWithStatusJson } from '@petstore/api/order-json';
import { type Order, orderId, petId } from '@petstore/domain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FieldError } from '../src/import/fields.ts';
import { parseJsonRecord } from '../src/import/json-records.ts';
import { plainRowReader, readPlainOrder } from '../src/import/plain-orders.ts';
import { ORDER_FIELDS, readOrder } from '../src/import/read-order.ts';

const NOW = new Date('2026-03-04T05:06:07.089Z');

/** As any record is read; `undefined` where it is refused. */
function orRefused(read: () => Order): Order | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof FieldError) return undefined;
    throw error;
  }
}

const readAnyOrder = (line: string) => orRefused(() => readOrder(parseJsonRecord({ line: 1, text: line }).fields, NOW));

const readAnyRow = (header: readonly string[], cells: readonly string[]) =>
  orRefused(() => readOrder(new Map(header.map((name, i) => [name, { type: 'untyped', text: cells[i] ?? '' }])), NOW));

test('a line that exports write is read at once', () => {
  const order: Order = {
    id: orderId(-5n),
    petId: petId(10n ** 17n),
    quantity: 999_999_999,
    shipDate: new Date('2026-02-28T00:00:00.001Z'),
    status: 'shipped',
    complete: true,
    placedAt: NOW,
    shippedAt: NOW,
    completedAt: NOW,
  };
  const text = orderWithStatusJson({
    ...order,
    id: order.id.toString(),
    petId: order.petId.toString(),
    quantity: order.quantity.toString(),
    shipDate: order.shipDate?.toISOString(),
  });
  expect(readPlainOrder(text, NOW)).toEqual(order);
  const spaced = '{"id": 1, "petId": 2, "quantity": 3, "status": "cancelled", "complete": false}';
  expect(readPlainOrder(spaced, NOW)).toEqual(readAnyOrder(spaced));
  expect(readPlainOrder('{"id":1,"petId":2,"quantity":3}', NOW)).toEqual(
    readAnyOrder('{"id":1,"petId":2,"quantity":3}'),
  );
});

describe('whatever is read at once is what any JSON gives', () => {
  const numbers = fc.constantFrom(
    '0',
    '1',
    '-1',
    '-0',
    '01',
    '9',
    '1e3',
    '1.0',
    '9223372036854775807',
    '999999999999999999',
    '2147483648',
    '"1"',
    '',
  );
  const times = fc.constantFrom(
    '2026-01-02T03:04:05.678Z',
    '2026-02-30T00:00:00.000Z',
    '2024-02-29T23:59:59Z',
    '9999-12-31T23:59:59.999-01:00',
    '0000-01-01T00:00:00.000Z',
    '2026-01-02\\u0054',
    '',
  );
  const member = fc.oneof(
    fc.tuple(fc.constantFrom('"id"', '"petId"', '"quantity"'), numbers).map((pair) => pair.join(':')),
    times.map((time) => `"shipDate":"${time}"`),
    fc.constantFrom(
      '"status":"shipped"',
      '"status": "pending"',
      '"status":"cancelled"',
      '"status":"Shipped"',
      '"status":null',
    ),
    fc.constantFrom('"complete":true', '"complete":false', '"complete": true', '"complete":"true"', '"unknown":1'),
  );
  const usual = fc
    .tuple(numbers, numbers, numbers)
    .map(([id, pet, quantity]) => `"id":${id},"petId":${pet},"quantity":${quantity}`);

  test('or nothing', () => {
    let readCount = 0;
    fc.assert(
      fc.property(usual, fc.array(member, { maxLength: 4 }), fc.constantFrom(',', ', ', ' ,'), (begin, rest, comma) => {
        const line = `{${[begin, ...rest].join(comma)}}`;
        const order = readPlainOrder(line, NOW);
        if (order === undefined) return;
        readCount++;
        expect(order).toEqual(readAnyOrder(line));
      }),
      { numRuns: 20_000 },
    );
    expect(readCount).toBeGreaterThan(50);
  });
});

describe('whatever is read at once of CSV is what any row gives', () => {
  const cellsOf: Readonly<Record<(typeof ORDER_FIELDS)[number], fc.Arbitrary<string>>> = {
    id: fc.constantFrom('0', '-1', '-0', '01', '7', '999999999999999999', '9223372036854775807', '1e3', ''),
    petId: fc.constantFrom('7', '-3', '0x1', ''),
    quantity: fc.constantFrom('1', '0', '999999999', '2147483647', '-1', ''),
    shipDate: fc.constantFrom(
      '',
      '2026-01-02T03:04:05.678Z',
      '2026-02-30T00:00:00Z',
      '9999-12-31T23:59:59-01:00',
      'now',
    ),
    complete: fc.constantFrom('', 'true', 'false', 'TRUE', 'yes'),
    status: fc.constantFrom('', 'pending', 'shipped', 'cancelled', 'Shipped'),
  };
  const headers = fc.shuffledSubarray([...ORDER_FIELDS], { minLength: 3 });
  const rows = headers.chain((header) =>
    fc.tuple(fc.constant(header), fc.tuple(...header.map((name) => cellsOf[name]))),
  );

  test('or nothing', () => {
    let readCount = 0;
    fc.assert(
      fc.property(rows, ([header, cells]) => {
        const order = plainRowReader(header, NOW)(cells);
        if (order === undefined) return;
        readCount++;
        expect(order).toEqual(readAnyRow(header, cells));
      }),
      { numRuns: 20_000 },
    );
    expect(readCount).toBeGreaterThan(50);
  });

  test('in any order of the columns', () => {
    const header = ['status', 'quantity', 'petId', 'id'];
    expect(plainRowReader(header, NOW)(['shipped', '3', '2', '1'])).toMatchObject({
      id: 1n,
      petId: 2n,
      quantity: 3,
      status: 'shipped',
      complete: false,
    });
    expect(plainRowReader(header, NOW)(['shipped', '3', '2'])).toBeUndefined();
  });
});
