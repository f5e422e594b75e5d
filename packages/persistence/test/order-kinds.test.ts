import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FieldDefinition } from '@petstore/domain';
import { anyValueOf } from '@petstore/testing/any-order';
import fc from 'fast-check';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyCell } from '../src/import-rows.ts';
import { COLUMN_KINDS, textOrNull } from '../src/orders/order-kinds.ts';
import { useTestStore } from './support.ts';

const store = useTestStore();
let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client(store.url);
  await client.connect();
  await client.query("set time zone 'UTC'");
});
afterAll(() => client.end());

const DEFINITIONS: readonly FieldDefinition[] = [
  { kind: 'int64', of: 'order', setBy: 'caller' },
  { kind: 'wholeNumber', min: -5, max: 2_147_483_647, setBy: 'caller' },
  { kind: 'instant', setBy: 'caller' },
  { kind: 'boolean', setBy: 'caller' },
  { kind: 'status', setBy: 'caller' },
  { kind: 'text', minLength: 0, maxLength: 200, setBy: 'caller' },
];

describe.each(DEFINITIONS)('values of the kind $kind', (definition) => {
  const { kind } = definition;
  const { type, list, ofText } = COLUMN_KINDS[kind];
  // A list of texts tells an empty one from none; no other kind has a value whose text is empty.
  const anyValues = fc.array(fc.option(anyValueOf(definition), { nil: undefined }), { minLength: 1, maxLength: 40 });

  beforeAll(async () => {
    const column = type === 'timestamptz' ? 'timestamptz(3)' : type;
    await client.query(`create temporary table kept (place integer, value ${column})`);
  });
  afterAll(() => client.query('drop table kept'));

  test('come back from lists as they went in by COPY, and those that are missing stay so', async () => {
    await fc.assert(
      fc.asyncProperty(anyValues, async (values) => {
        await client.query('truncate kept');
        const lines = values.map((value, place) => `${place}\t${copyCell(textOrNull(kind, value))}\n`);
        await pipeline(Readable.from(lines), client.query(from('copy kept from stdin')));
        const { rows } = await client.query(
          `select ${list.aggregate('value')} as texts from (select * from kept order by place) ordered`,
        );
        const read = list
          .split(rows[0].texts)
          .map((text) => (text === null || (text === '' && list.isEmptyNull) ? undefined : ofText(text)));
        expect(read).toEqual(values);
      }),
      { numRuns: 40 },
    );
  });

  test('come back as they went in as parameters', async () => {
    await fc.assert(
      fc.asyncProperty(anyValueOf(definition), async (value) => {
        const { rows } = await client.query(`select ($1::${type})::text as text`, [textOrNull(kind, value)]);
        expect(ofText(rows[0].text)).toEqual(value);
      }),
    );
  });
});
