import { openPersistence } from '@petstore/persistence';
import { PATIENTLY, startPostgresServer, startRedisServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createServerDatabase, importDemoOrders, KEYS } from '../support/database.ts';
import { startServer } from '../support/spawned-server.ts';

test('a burst waits for the connections that PostgreSQL has room for, and one line says so', async () => {
  await using database = await createServerDatabase();
  await importDemoOrders(database.url);
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(`create role narrow login password 'narrow' connection limit 4`);
  await client.query('grant select, insert, update, delete on all tables in schema public to narrow');
  await client.end();
  const url = Object.assign(new URL(database.url), { username: 'narrow', password: 'narrow' });
  await using started = await startServer({ DATABASE_URL: url.href, DATABASE_CONNECTIONS: '20' });
  const publicUrl = await started.server.url();
  const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
  const statuses = await Promise.all(
    Array.from({ length: 120 }, async (_, i) => {
      const path = i % 4 === 0 ? '/v1/store/orders' : `/v2/store/orders/${i}`;
      const response = await fetch(publicUrl + path, { headers, method: i % 4 === 1 ? 'DELETE' : 'GET' });
      await response.text();
      return response.status;
    }),
  );
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  const line =
    'PostgreSQL has reached its connection limit, below DATABASE_CONNECTIONS; requests wait for a free connection of the pool';
  await started.server.said(new RegExp(line));
  expect(started.server.logLines(line)).toHaveLength(1);
});

test('a server that may not move a sequence to its table says so at the start, and changes work once migrate has', async () => {
  await using database = await createServerDatabase();
  await importDemoOrders(database.url);
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(`select setval('order_events_id_seq', 1, false)`); // as logical replication leaves it
  await client.query(`create role reading_sequences login password 'secret'`);
  await client.query('grant select, insert, update, delete on all tables in schema public to reading_sequences');
  await client.query('grant select on all sequences in schema public to reading_sequences');
  await client.end();
  const { href } = Object.assign(new URL(database.url), { username: 'reading_sequences', password: 'secret' });
  await using started = await startServer({ DATABASE_URL: href });
  const { server } = started;
  const url = await server.url();
  const warning =
    'sequences are behind their tables, so changes fail: run "petstore migrate" as the owner of the tables';
  expect(server.logLines(warning)).toEqual([
    expect.objectContaining({ level: 'warn', sequences: { order_events_id_seq: expect.stringContaining('denied') } }),
  ]);
  const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
  const cancel = () => fetch(`${url}/v1/store/orders/1`, { method: 'DELETE', headers }).then(({ status }) => status);
  expect(await cancel()).toBe(503);
  await server.said(/the sequence order_events_id_seq .* run \\?"petstore migrate/);
  await using owner = openPersistence({ databaseUrl: database.url });
  expect((await owner.sequences.align()).size).toBe(0); // as migrate does
  expect(await cancel()).not.toBe(503);
});

describe('a schema that a newer release has migrated', () => {
  /** A migration of a release to come, and the oldest release that it lets run. */
  const MIGRATION = '9999-from-the-future';

  const resources = new AsyncDisposableStack();
  let postgres: Awaited<ReturnType<typeof startPostgresServer>>;
  let environment: Record<string, string>;
  beforeAll(async () => {
    postgres = resources.use(await startPostgresServer());
    const redis = resources.use(await startRedisServer());
    environment = { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
    await using persistence = openPersistence({ databaseUrl: postgres.url });
    await persistence.migrations.migrate();
  });
  afterAll(() => resources.disposeAsync());

  async function migrateAsNewer(oldestRelease?: string): Promise<void> {
    const client = new pg.Client(postgres.url);
    await client.connect();
    await client.query('delete from schema_migrations where name = $1', [MIGRATION]);
    await client.query('insert into schema_migrations (name) values ($1)', [MIGRATION]);
    if (oldestRelease !== undefined) {
      await client.query('insert into schema_releases values ($1, $2)', [MIGRATION, oldestRelease]);
    }
    await client.end();
  }

  test('lets a server that runs go on, also after PostgreSQL was away', async () => {
    await using started = await startServer(environment);
    const { server } = started;
    await server.url();
    await migrateAsNewer();
    await postgres.kill();
    await vi.waitFor(async () => expect((await server.readiness()).status).toBe(503), PATIENTLY);
    await postgres.restart();
    await vi.waitFor(async () => expect((await server.readiness()).status).toBe(200), PATIENTLY);
    await server.said(/migrated by a newer version; this server keeps running until it is stopped/);
  });

  test('lets a server start if its migration says that this release may', async () => {
    await migrateAsNewer('0001-initial-schema');
    await using started = await startServer(environment);
    await started.server.url(); // it listens
    expect((await started.server.readiness()).status).toBe(200);
  });
});
