import { expect, test } from 'vitest';
import { renderFields, renderTable } from '../src/table.ts';

const HOUR_MS = 3_600_000;
const lastUsedAt = new Date(Date.now() - HOUR_MS - 1_000);
const ROWS = [
  { id: 1n, name: 'a long name', lastUsedAt, used: 1_234 },
  { id: 9_223_372_036_854_775_807n, name: null, lastUsedAt: null, used: null },
];

test('for a program times and numbers are whole, under the names of the properties, between tabs', () => {
  expect(renderTable(ROWS, { columns: undefined, flexible: 'name' })).toBe(
    `id\tname\tlastUsedAt\tused\n1\ta long name\t${lastUsedAt.toISOString()}\t1234\n9223372036854775807\t-\t-\t-\n`,
  );
});

test.each([
  [
    80,
    `                 ID  NAME         LAST USED AT   USED
                  1  a long name  1h ago        1,234
9223372036854775807  -            -                 -
`,
  ],
  [
    51,
    `                 ID  NAME       LAST USED AT   USED
                  1  a long n…  1h ago        1,234
9223372036854775807  -          -                 -
`,
  ],
])('a terminal of %i columns shortens one of them', (columns, table) => {
  expect(renderTable(ROWS, { columns, flexible: 'name' })).toBe(table);
});

test('rows that come later have no head', () => {
  expect(renderTable([{ id: 1_000, name: 'b' }], { columns: 80, hasHead: false })).toBe('1,000  b\n');
});

test('no text controls the terminal, and none is cut within a character', () => {
  const row = { name: 'a\u001b[31mb\n', other: '🐈🐈🐈🐈🐈🐈' };
  expect(renderTable([row], { columns: 19, flexible: 'other' })).toBe('NAME      OTHER\na?[31mb?  🐈🐈🐈🐈…\n');
  expect(renderTable([row], { columns: undefined })).toBe('name\tother\na?[31mb?\t🐈🐈🐈🐈🐈🐈\n');
  expect(renderFields({ Name: row.name, Expires: null })).toBe('Name     a?[31mb?\nExpires  -\n');
});
