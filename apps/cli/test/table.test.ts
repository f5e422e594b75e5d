import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { Output } from '../src/output.ts';
import { writeFields, writeTable } from '../src/table.ts';

/** What is written to a terminal of so many columns; `undefined`: to a program. */
async function written(columns: number | undefined, write: (output: Output) => Promise<void>): Promise<string> {
  const stdout = Object.assign(new PassThrough(), columns !== undefined && { isTTY: true, columns });
  const printed = text(stdout);
  await write(new Output({ stdout, stderr: new PassThrough() }));
  stdout.end();
  return printed;
}

const HOUR_MS = 3_600_000;
const lastUsedAt = new Date(Date.now() - HOUR_MS - 1_000);
const ROWS = [
  { id: 1n, name: 'a long name', lastUsedAt, used: 1_234 },
  { id: 9_223_372_036_854_775_807n, name: null, lastUsedAt: null, used: null },
];

test('for a program times and numbers are whole, under the names of the properties, between tabs', async () => {
  expect(await written(undefined, (output) => writeTable(output, ROWS, { flexible: 'name' }))).toBe(
    `id\tname\tlastUsedAt\tused\n1\ta long name\t${lastUsedAt.toISOString()}\t1234\n9223372036854775807\t-\t-\t-\n`,
  );
});

test('a terminal that is too narrow shortens one of the columns', async () => {
  expect(await written(51, (output) => writeTable(output, ROWS, { flexible: 'name' }))).toBe(
    `                 ID  NAME       LAST USED AT   USED
                  1  a long n…  1h ago        1,234
9223372036854775807  -          -                 -
`,
  );
});

test('a long table is aligned to its end, and a character of two columns is not cut', async () => {
  const rows = Array.from({ length: 11_000 }, (_, id) => ({ id, name: id < 10_999 ? '猫猫' : 'a cat' }));
  const lines = (await written(80, (output) => writeTable(output, rows, { flexible: 'name' }))).split('\n');
  expect(lines.length).toBe(11_002);
  expect([lines[0], lines[1], lines.at(-2)]).toEqual(['    ID  NAME', '     0  猫猫', '10,999  a cat']);
});

test('rows that come later have no head', async () => {
  const write = (output: Output) => writeTable(output, [{ id: 1_000, name: 'b' }], { hasHead: false });
  expect(await written(80, write)).toBe('1,000  b\n');
});

test('no text controls the terminal, and none is cut within a character', async () => {
  const row = { name: 'a\u001b[31mb\n', other: '🐈🐈🐈🐈🐈🐈' };
  const write = (output: Output) => writeTable(output, [row], { flexible: 'other' });
  expect(await written(19, write)).toBe('NAME      OTHER\na?[31mb?  🐈🐈🐈🐈…\n');
  expect(await written(undefined, write)).toBe('name\tother\na?[31mb?\t🐈🐈🐈🐈🐈🐈\n');
  const fields = await written(80, (output) => writeFields(output, { name: row.name, expiresAt: null }));
  expect(fields).toBe('NAME        a?[31mb?\nEXPIRES AT  -\n');
});
