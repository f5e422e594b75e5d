import { openPersistence } from '@petstore/persistence';
import { expect, test } from 'vitest';
import { openFarServer } from './far-server.ts';
import { petstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

const listKeys = (url: string, ...flags: string[]) =>
  petstore(['keys', 'list', ...flags], { environment: { DATABASE_URL: url, DATA_DIR: commandLine.folder } });

test.each([{ delayMs: 100 }, { delayMs: 0, wakesAfterMs: 4_000 }])(
  'a command waits for a database that is far away or wakes: %o',
  async (distance) => {
    await using database = await openFarServer(commandLine.url, distance);
    expect(await listKeys(database.url, '--json')).toMatchObject({ code: 0, stderr: '' });
  },
);

test('connect_timeout says how long', async () => {
  await using database = await openFarServer(commandLine.url, { delayMs: 0, wakesAfterMs: 4_000 });
  const { code, stderr } = await listKeys(`${database.url}?connect_timeout=1`);
  expect([code, stderr]).toEqual([1, 'petstore: PostgreSQL is hung (not responding)\n']);
});

test('callers of a server wait no longer for it', async () => {
  await using database = await openFarServer(commandLine.url, { delayMs: 0, wakesAfterMs: 60_000 });
  await using persistence = openPersistence({ databaseUrl: database.url });
  const beganMs = performance.now();
  await expect(persistence.orders.countOrders()).rejects.toMatchObject({ name: 'StorageUnavailableError' });
  expect(performance.now() - beganMs).toBeLessThan(3_000);
});
