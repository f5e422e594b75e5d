import { readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { claimDataFolder, openEmbeddedPostgres, openEmbeddedRedis } from '@petstore/runtime';
import { createTemporaryFolder } from '@petstore/testing';
import { findRedis } from '@petstore/testing/find-executable';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { petstore, petstoreProcess } from './support.ts';

// Without DATABASE_URL: the database and the Redis of the server that runs on DATA_DIR. These tests run them as a server does.

const resources = new AsyncDisposableStack();
let checkout: string;
let environment: { DATA_DIR: string };
beforeAll(async () => {
  const folder = resources.use(createTemporaryFolder());
  checkout = join(folder.path, 'my shop');
  environment = { DATA_DIR: join(checkout, '.data') };
  const { signal } = new AbortController();
  const claimed = resources.use(await claimDataFolder(environment.DATA_DIR, signal));
  const postgres = await openEmbeddedPostgres(claimed, () => {}, signal);
  resources.defer(() => postgres.stop());
  vi.stubEnv('PATH', [dirname(findRedis() ?? ''), '/usr/bin', '/bin'].join(delimiter));
  const redis = await openEmbeddedRedis(claimed, signal);
  vi.unstubAllEnvs();
  resources.defer(async () => redis?.stop());
});
afterAll(() => resources.disposeAsync());

const LIST = ['orders', 'list', '--json'];

test('a process of its own uses the database of the server, whatever the shell says of other databases', async () => {
  const ofOthers = {
    PGSSLMODE: 'require',
    PGOPTIONS: '-c search_path=nowhere',
    PGSSLNEGOTIATION: 'direct',
    PGREPLICATION: 'true',
  };
  const generated = await petstoreProcess(['orders', 'generate', '--count', '3', '--json'], {
    environment: { ...environment, ...ofOthers },
  });
  expect(generated).toEqual({ code: 0, stdout: '{"inserted":3}\n', stderr: '' });
  const { stdout } = await petstore(LIST, { environment });
  expect(JSON.parse(stdout)).toHaveLength(3);
});

test('limits are those of the Redis of the server, unless the database is not its own', async () => {
  const bans = ['bans', 'list', '--json'];
  expect(await petstore(bans, { environment })).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  const elsewhere = { ...environment, DATABASE_URL: 'postgres://127.0.0.1:1/none' };
  expect(await petstore(bans, { environment: elsewhere })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^petstore: there is no Redis: /),
  });
});

test('where no server runs, commands say how to start one, and leave no file', async () => {
  using empty = createTemporaryFolder();
  for (const line of [
    'orders export orders.csv',
    'orders import -',
    'keys create --plan free',
    'bans list',
    'migrate',
  ]) {
    // The folder of data may be there, as one that was mounted is.
    for (const DATA_DIR of [empty.path, join(empty.path, 'missing')]) {
      const call = petstore(line.split(' '), { environment: { DATA_DIR }, workingFolder: empty.path });
      const stderr = expect.stringMatching(`^petstore: No server runs on the data folder ${DATA_DIR}, .+\n$`);
      expect(await call, line).toEqual({ code: 1, stdout: '', stderr });
    }
  }
  expect(readdirSync(empty.path)).toEqual([]);
});

test('without DATA_DIR, from a folder without data, the data is that of the checkout', async () => {
  using elsewhere = createTemporaryFolder();
  const { stdout } = await petstore(LIST, { environment });
  expect(await petstore(LIST, { workingFolder: elsewhere.path, checkout })).toMatchObject({ code: 0, stdout });
  expect(readdirSync(elsewhere.path)).toEqual([]);
  const here = await petstore(LIST, { workingFolder: checkout, checkout: elsewhere.path });
  expect(here).toMatchObject({ code: 0, stdout });
});
