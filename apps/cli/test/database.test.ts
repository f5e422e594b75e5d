import { randomUUID } from 'node:crypto';
import { openPersistence } from '@petstore/persistence';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFarServer, petstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

const listKeys = (url: string, ...flags: string[]) =>
  petstore(['keys', 'list', ...flags], { environment: { DATABASE_URL: url, DATA_DIR: commandLine.folder } });

test.each([{ delayMs: 60 }, { delayMs: 0, wakesAfterMs: 3_000 }])(
  'a command waits for a database that is far away or wakes: %o',
  async (distance) => {
    await using database = await openFarServer(commandLine.url, distance);
    expect(await listKeys(database.url, '--json')).toMatchObject({ code: 0, stderr: '' });
  },
);

test('connect_timeout says how long', async () => {
  await using database = await openFarServer(commandLine.url, { delayMs: 0, wakesAfterMs: 3_000 });
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

/** It may read everything, and write nothing. */
const role = `reader_${randomUUID().replaceAll('-', '')}`;
let asSuperuser: pg.Client;
beforeAll(async () => {
  asSuperuser = new pg.Client(commandLine.url);
  await asSuperuser.connect();
  await asSuperuser.query(`create role ${role} login password 'secret'; grant pg_read_all_data to ${role}`);
});
afterAll(async () => {
  await asSuperuser.query(`drop role ${role}`);
  await asSuperuser.end();
});

test.each([
  ['keys create --plan free', 'table key_events'],
  ['orders generate --count 1', 'sequence orders_id_seq'],
  ['orders import -', 'sequence orders_id_seq'],
  ['pets import -', 'table pets'],
])('a role that may not is told so in one line: %s', async (line, object) => {
  const url = Object.assign(new URL(commandLine.url), { username: role, password: 'secret' });
  const result = await commandLine.run(line.split(' '), {
    environment: { DATABASE_URL: url.href, MIGRATE: 'off' },
    stdin: line.startsWith('pets') ? '{"id":1,"name":"Rex"}' : '{"id":1,"petId":1,"quantity":1}',
  });
  const stderr = expect.stringMatching(
    new RegExp(
      `^petstore: permission denied for ${object}; it needs a role like petstore_server \\(docs/operations.md, "Roles"\\)\\n$`,
    ),
  );
  expect(result).toEqual({ code: 1, stdout: '', stderr });
});
