import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CallResult, expectKey, petstore, petstoreProcess, spawnPetstore } from './support.ts';

// Without DATABASE_URL: the database below DATA_DIR, which a command runs itself where no server does. Making one takes
// seconds, so the tests share it: each begins with no database running and ends so.

let folder: ReturnType<typeof createTemporaryFolder>;
let checkout: string;
let dataFolder: string;
let environment: Record<string, string>;
let making: CallResult;
beforeAll(async () => {
  folder = createTemporaryFolder();
  checkout = join(folder.path, 'my shop');
  dataFolder = join(checkout, '.data');
  environment = { DATA_DIR: dataFolder };
  making = await petstore(['migrate', '--json'], { environment });
});
afterAll(() => folder[Symbol.dispose]());

/** Whether the database's process lives. */
function isRunning(): boolean {
  try {
    const [pid] = readFileSync(join(dataFolder, 'postgres/postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}

async function call(args: readonly string[], run = petstore): Promise<unknown> {
  const { code, stdout, stderr } = await run([...args, '--json'], { environment });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const countOrders = async () => ((await call(['orders', 'list'])) as unknown[]).length; // the command prints an array

test('a command that makes the database says so, beside what it prints', () => {
  expect(making).toMatchObject({
    code: 0,
    stderr: `DATABASE_URL is not set: creating a database in ${dataFolder}.\n`,
  });
  expect(JSON.parse(making.stdout)).toMatchObject({ applied: expect.any(Array) });
});

test('what a shell says of other databases changes nothing', async () => {
  const ofOthers = {
    PGSSLMODE: 'require',
    PGOPTIONS: '-c search_path=nowhere',
    PGSSLNEGOTIATION: 'direct',
    PGREPLICATION: 'true',
  };
  const { code, stderr } = await petstoreProcess(['keys', 'list', '--json'], {
    environment: { ...environment, ...ofOthers },
  });
  expect([code, stderr]).toEqual([0, '']);
});

test.each([['orders', 'export', 'orders.csv'], ['keys', 'revoke', 'abcdefgh'], ['audit'], ['migrate', '--status']])(
  'where no database is, none is made by: %s %s',
  async (...args) => {
    using empty = createTemporaryFolder();
    // The folder of data may be there, as one that was mounted is.
    for (const DATA_DIR of [empty.path, join(empty.path, 'missing')]) {
      expect(await petstore([...args, '--json'], { environment: { DATA_DIR }, workingFolder: empty.path })).toEqual({
        code: 1,
        stdout: '',
        stderr: `petstore: There is no database in ${DATA_DIR}, and DATABASE_URL is not set. Set DATABASE_URL, or DATA_DIR to where it is.\n`,
      });
    }
    expect(readdirSync(empty.path)).toEqual([]);
  },
);

test('data is kept from one command to the next, and nothing runs between them', async () => {
  const before = await countOrders();
  expect(await call(['orders', 'generate', '--count', '3'], petstoreProcess)).toEqual({ inserted: 3 });
  expect(isRunning()).toBe(false);
  expect(await countOrders()).toBe(before + 3);
  expect(isRunning()).toBe(false);
});

test('without DATA_DIR, from a folder without data, the data is that of the checkout', async () => {
  using elsewhere = createTemporaryFolder();
  const list = ['orders', 'list', '--json'];
  const { stdout } = await petstore(list, { workingFolder: elsewhere.path, checkout });
  expect(JSON.parse(stdout)).toHaveLength(await countOrders());
  expect(readdirSync(elsewhere.path)).toEqual([]);
  const here = await petstore(list, { workingFolder: checkout, checkout: elsewhere.path });
  expect(here.stdout).toBe(stdout);
});

test('a command that is interrupted imports nothing, and leaves no database running', async () => {
  // More than pipes and buffers hold: when all of it is taken, an import has stored a part and waits for the rest.
  const orders = Array.from({ length: 20_000 }, (_, i) => `{"id":${i + 1_000_000},"petId":1,"quantity":1}\n`).join('');
  const before = await countOrders();
  const child = spawnPetstore(['orders', 'import', '-'], { environment });
  const closed = once(child, 'close');
  const messages = text(child.stderr);
  await Promise.race([new Promise((resolve) => child.stdin.write(orders, resolve)), closed]);
  expect(isRunning()).toBe(true);
  child.kill('SIGTERM');
  expect(await closed).toEqual([143, null]);
  expect(await messages).toBe('Interrupted. Nothing was imported.\n');
  await expect.poll(isRunning, { timeout: 25_000 }).toBe(false);
  expect(await countOrders()).toBe(before);
});

test('a copy of the folder, made while nothing runs, has all of it', async () => {
  const key = expectKey(await call(['keys', 'create', '--plan', 'business', '--name', 'till']));
  const list = async (DATA_DIR: string) => {
    const printed = [];
    for (const args of [
      ['orders', 'export', '-'],
      ['keys', 'list', '--json'],
      ['audit', '--json'],
    ]) {
      printed.push(await petstore(args, { environment: { DATA_DIR } }));
    }
    return printed;
  };
  const before = await list(dataFolder);
  expect(before.map(({ stdout }) => stdout)).toContainEqual(expect.stringContaining(key.id));
  const copy = join(folder.path, 'copy');
  execFileSync('cp', ['-a', dataFolder, copy]);
  await call(['keys', 'revoke', key.id]);
  expect(await list(copy)).toEqual(before);
});
