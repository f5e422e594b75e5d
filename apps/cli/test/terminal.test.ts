import { join } from 'node:path';
import { actor, petId } from '@petstore/domain';
import { createTemporaryFolder, createTestRedis, type TestRedis } from '@petstore/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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

test.each([
  [[], '20,000', /█{20} 100 % {2}ETA 0s {2}20,000 exported/],
  [['--status', 'cancelled'], '0', /ETA 0s {2}0 exported/],
])('an export with %j shows how much of all it has', async (options, count, progress) => {
  await commandLine.json(['orders', 'generate', '--count', '20000']);
  using folder = createTemporaryFolder();
  const { stdout, stderr } = await commandLine.run(
    ['orders', 'export', join(folder.path, 'orders.ndjson'), ...options],
    {
      columns: COLUMNS,
    },
  );
  expect(stdout).toMatch(new RegExp(`^${count} exported to `));
  expect(stderr).toMatch(progress);
});

test('without orders a list says so, and prints nothing', async () => {
  const none = await commandLine.run(['orders', 'list']);
  expect(none).toEqual({ code: 0, stdout: '', stderr: 'No orders.\n' });
  const { stderr } = await commandLine.run(['orders', 'list', '--status', 'cancelled']);
  expect(stderr).toBe('No cancelled orders.\n');
});
