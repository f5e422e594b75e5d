import { expect, test } from 'vitest';
import { renderFields, renderTable, startTable } from '../src/table.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const ROWS = [
  { id: 1n, name: 'a long name', lastUsedAt: new Date('2026-11-20T11:00:00Z'), note: 'another text', used: 1_234 },
  { id: 9_223_372_036_854_775_807n, name: null, lastUsedAt: null, note: null, used: null },
];

test('for a program times and numbers are whole, under the names of the properties', () => {
  expect(renderTable(ROWS, { columns: undefined, now: NOW, shorten: { name: 3 }, omit: ['note'] })).toBe(
    `                 id  name         lastUsedAt                note          used
                  1  a long name  2026-11-20T11:00:00.000Z  another text  1234
9223372036854775807  -            -                         -                -
`,
  );
});

test.each([
  [
    71,
    `                 ID  NAME         LAST USED AT  NOTE           USED
                  1  a long name  1h ago        another text  1,234
9223372036854775807  -            -             -                 -
`,
  ],
  [
    63,
    `                 ID  NAME     LAST USED AT  NOTE           USED
                  1  a long…  1h ago        another text  1,234
9223372036854775807  -        -             -                 -
`,
  ],
  [
    53,
    `                 ID  NAME  LAST USED AT  NOTE    USED
                  1  a l…  1h ago        anot…  1,234
9223372036854775807  -     -             -          -
`,
  ],
  [
    45,
    `                 ID  NAME  LAST USED AT   USED
                  1  a l…  1h ago        1,234
9223372036854775807  -     -                 -
`,
  ],
])('a terminal of %i columns shortens the first texts first, and then leaves columns out', (columns, table) => {
  expect(renderTable(ROWS, { columns, now: NOW, shorten: { name: 2, note: 5 }, omit: ['note'] })).toBe(table);
});

test('rows that come later may widen a table', () => {
  const add = startTable({ columns: 80, now: NOW });
  expect(add([{ id: 1, name: 'b' }])).toBe('ID  NAME\n 1  b\n');
  expect(add([{ id: 1_000, name: 'b' }])).toBe('1,000  b\n');
  expect(add([{ id: 1, name: 'b' }])).toBe('    1  b\n');
});

test('no text controls the terminal, and none is cut within a character', () => {
  const row = { name: 'a\u001b[31mb\n', other: '🐈🐈🐈🐈🐈🐈' };
  const table = renderTable([row], { columns: 15, now: NOW, shorten: { other: 1 } });
  expect(table).toBe('NAME      OTHER\na?[31mb?  🐈🐈🐈🐈…\n');
  expect(renderFields({ Name: row.name, Expires: null })).toBe('Name     a?[31mb?\nExpires  -\n');
});
