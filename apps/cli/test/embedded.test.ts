import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { claimDataFolder, openEmbeddedPostgres } from '@petstore/runtime';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectKey, petstore, petstoreProcess } from './support.ts';

// Without DATABASE_URL: the database of the server that runs on DATA_DIR. These tests run it as a server does.

let folder: ReturnType<typeof createTemporaryFolder>;
let checkout: string;
let dataFolder: string;
let environment: Record<string, string>;
let server: AsyncDisposable;
beforeAll(async () => {
  folder = createTemporaryFolder();
  checkout = join(folder.path, 'my shop');
  dataFolder = join(checkout, '.data');
  environment = { DATA_DIR: dataFolder };
  server = await serve(dataFolder);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function serve(path: string): Promise<AsyncDisposable> {
  await using resources = new AsyncDisposableStack();
  const { signal } = new AbortController();
  const claimed = resources.use(await claimDataFolder(path, signal));
  const postgres = await openEmbeddedPostgres(claimed, () => {}, signal);
  resources.defer(() => postgres.stop());
  return resources.move();
}

async function call(args: readonly string[], run = petstore): Promise<unknown> {
  const { code, stdout, stderr } = await run([...args, '--json'], { environment });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const countOrders = async () => ((await call(['orders', 'list'])) as unknown[]).length; // the command prints an array

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

test.each([
  ['orders', 'export', 'orders.csv'],
  ['orders', 'generate', '--count', '3'],
  ['orders', 'import', '-'],
  ['keys', 'create', '--plan', 'free'],
  ['bans', 'list'],
  ['audit'],
  ['migrate'],
])('where no server runs, how to start one is said by: %s %s', async (...args) => {
  using empty = createTemporaryFolder();
  // The folder of data may be there, as one that was mounted is.
  for (const DATA_DIR of [empty.path, join(empty.path, 'missing')]) {
    expect(await petstore([...args, '--json'], { environment: { DATA_DIR }, workingFolder: empty.path })).toEqual({
      code: 1,
      stdout: '',
      stderr: `petstore: No server runs on the data folder ${DATA_DIR}, and DATABASE_URL is not set. Start one with "npx --yes pnpm@12 start", or set DATABASE_URL.\n`,
    });
  }
  expect(readdirSync(empty.path)).toEqual([]);
});

test('commands in processes of their own use the database of the server, which goes on', async () => {
  const before = await countOrders();
  expect(await call(['orders', 'generate', '--count', '3'], petstoreProcess)).toEqual({ inserted: 3 });
  expect(await countOrders()).toBe(before + 3);
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

test('a copy of the folder, made while no server runs, has all of it', async () => {
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
  await server[Symbol.asyncDispose]();
  execFileSync('cp', ['-a', dataFolder, copy]);
  server = await serve(dataFolder);
  await call(['keys', 'revoke', key.id]);
  await using _ = await serve(copy);
  expect(await list(copy)).toEqual(before);
});
