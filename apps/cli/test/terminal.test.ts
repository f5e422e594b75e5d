import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { actor, petId } from '@petstore/domain';
import { createTemporaryFolder, createTestRedis, type TestRedis } from '@petstore/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Output } from '../src/output.ts';
import { writeFields, writeTable } from '../src/table.ts';
import { expectKey, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
let redis: TestRedis;
beforeAll(async () => {
  redis = await createTestRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(() => commandLine.clear());

const COLUMNS = 80;

/** The lines that a person sees in a terminal of 80 columns. */
async function linesOf(...args: string[]): Promise<readonly string[]> {
  const environment = { REDIS_URL: redis.url };
  const { code, stdout } = await commandLine.run(args, { columns: COLUMNS, environment });
  expect(code).toBe(0);
  expect(stdout).not.toMatch(/\d{4}-\d\d-\d\dT[^ ]*$/m); // no time without what it is relative to now
  const lines = stdout.trimEnd().split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(COLUMNS);
  return lines;
}

const createKey = async (...args: string[]) =>
  expectKey(await commandLine.json(['keys', 'create', '--plan', 'business', ...args])).id;

describe('a terminal of 80 columns shows', () => {
  test('keys', async () => {
    const id = await createKey('--internal', '--name', 'n'.repeat(200), '--expires', '90d');
    const custom = ['--per-minute', '1000000', '--per-day', '1000000000'];
    await commandLine.json(['keys', 'set-plan', id, '--plan', 'enterprise', ...custom]);
    expect(await linesOf('keys', 'list')).toEqual([
      'ID        NAME                   PLAN                  STATUS          LAST USED',
      `${id}  nnnnnnnnnnnnnnnnnnnn…  enterprise, internal  expires in 90d  -`,
    ]);
  });

  test('the facts of a key, one below the other', async () => {
    const id = await createKey('--name', 'till 3');
    await commandLine.json(['keys', 'set-plan', id, '--plan', 'pro']);
    const lines = await linesOf('keys', 'show', id);
    expect(lines).toEqual([
      `ID            ${id}`,
      'PLAN          pro',
      'PER MINUTE    300',
      'PER DAY       10,000',
      'KIND          external',
      'READ ONLY     false',
      'NAME          till 3',
      expect.stringMatching(/^CREATED AT {4}2\d{3}-\S+Z \(.+\)$/),
      'EXPIRES AT    -',
      'REVOKED AT    -',
      'LAST USED AT  -',
    ]);
    expect((await linesOf('keys', 'revoke', id))[9]).toMatch(/^REVOKED AT {4}2\d{3}-\S+Z \(.+\)$/);
  });

  test('the audit', async () => {
    const id = await createKey('--as', 'Ada Lovelace');
    const facts = { petId: petId(1n), quantity: 1, status: 'pending', complete: false, placedAt: new Date() } as const;
    const origin = { actor: actor('key', id), requestId: '65ddde20-6bcd-491d-89cd-5cec35e39e7e' };
    const placed = await commandLine.persistence.orders.insertOrder(facts, origin);
    const [head, order, created] = await linesOf('audit', '--key', id);
    expect(head).toMatch(/^AT +ACTION +ORDER {2}KEY +ACTOR$/);
    expect(order).toMatch(new RegExp(`order.placed +${placed.order.id}  ${id}  key:${id}$`));
    expect(created).toMatch(new RegExp(`key.created +-  ${id}  operator:Ada Lovelace$`));
  });

  test('limits, of which an unused one has no reset', async () => {
    expect(await linesOf('limits', 'show', await createKey())).toEqual([
      'WINDOW    LIMIT  USED  REMAINING  RESET',
      'minute    1,000     0      1,000  -',
      'day     100,000     0    100,000  -',
    ]);
  });

  test('orders', async () => {
    const stdin = [
      '{"id":1,"petId":7,"quantity":1200,"shipDate":"2026-12-01T09:00:00Z","complete":false}',
      '{"id":123456789012,"petId":3,"quantity":2147483647,"status":"cancelled"}',
    ].join('\n');
    await commandLine.json(['orders', 'import', '-'], { stdin });
    expect(await linesOf('orders', 'list')).toEqual([
      '          ID  PET ID       QUANTITY  SHIP DATE         COMPLETE  STATUS',
      '           1       7          1,200  2026-12-01 09:00  no        pending',
      '123456789012       3  2,147,483,647  -                 no        cancelled',
    ]);
  });

  test('what an import does, and what it waits for', async () => {
    const stdin = '{"id":1,"petId":7,"quantity":1}';
    const { stdout, stderr } = await commandLine.run(['orders', 'import', '-'], { stdin, columns: COLUMNS });
    expect(stdout).toBe('1 of 1 imported.\n');
    expect(stderr).toContain('1 read, committing');
  });
});

test('an export shows how much of all it has', async () => {
  await commandLine.json(['orders', 'generate', '--count', '2000']);
  using folder = createTemporaryFolder();
  for (const [options, count, progress] of [
    [[], '2,000', /█{20} 100 % {2}ETA 0s {2}2,000 exported/],
    [['--status', 'cancelled'], '0', /ETA 0s {2}0 exported/],
  ] as const) {
    const args = ['orders', 'export', join(folder.path, 'orders.ndjson'), ...options];
    const { stdout, stderr } = await commandLine.run(args, { columns: COLUMNS });
    expect(stdout).toMatch(new RegExp(`^${count} exported to `));
    expect(stderr).toMatch(progress);
  }
});

test('without orders a list says so, and prints nothing', async () => {
  const none = await commandLine.run(['orders', 'list']);
  expect(none).toEqual({ code: 0, stdout: '', stderr: 'No orders.\n' });
  const { stderr } = await commandLine.run(['orders', 'list', '--status', 'cancelled']);
  expect(stderr).toBe('No cancelled orders.\n');
});

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
  expect(await written(undefined, (output) => writeTable(output, ROWS, { flexible: ['name'] }))).toBe(
    `id\tname\tlastUsedAt\tused\n1\ta long name\t${lastUsedAt.toISOString()}\t1234\n9223372036854775807\t-\t-\t-\n`,
  );
});

test('a terminal that is too narrow shortens one of the columns', async () => {
  expect(await written(51, (output) => writeTable(output, ROWS, { flexible: ['name'] }))).toBe(
    `                 ID  NAME       LAST USED AT   USED
                  1  a long n…  1h ago        1,234
9223372036854775807  -          -                 -
`,
  );
});

test('a long table is aligned to its end, and a character of two columns is not cut', async () => {
  const rows = Array.from({ length: 11_000 }, (_, id) => ({ id, name: id < 10_999 ? '猫猫' : 'a cat' }));
  const lines = (await written(80, (output) => writeTable(output, rows, { flexible: ['name'] }))).split('\n');
  expect(lines.length).toBe(11_002);
  expect([lines[0], lines[1], lines.at(-2)]).toEqual(['    ID  NAME', '     0  猫猫', '10,999  a cat']);
});

test('rows that come later have no head', async () => {
  const write = (output: Output) => writeTable(output, [{ id: 1_000, name: 'b' }], { hasHead: false });
  expect(await written(80, write)).toBe('1,000  b\n');
});

test('no text controls the terminal, and none is cut within a character', async () => {
  const row = { name: 'a\u001b[31mb\n', other: '🐈🐈🐈🐈🐈🐈' };
  const write = (output: Output) => writeTable(output, [row], { flexible: ['other'] });
  expect(await written(19, write)).toBe('NAME      OTHER\na?[31mb?  🐈🐈🐈🐈…\n');
  expect(await written(undefined, write)).toBe('name\tother\na?[31mb?\t🐈🐈🐈🐈🐈🐈\n');
  const fields = await written(80, (output) => writeFields(output, { name: row.name, expiresAt: null }));
  expect(fields).toBe('NAME        a?[31mb?\nEXPIRES AT  -\n');
});
