import { openPersistence } from '@petstore/persistence';
import { startPostgresServer, startRedisServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startServer } from '../support/spawned-server.ts';

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

test('a server that runs goes on when a newer release has migrated, also after PostgreSQL was away', async () => {
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

test('a server starts on a database whose newer migration lets this release run', async () => {
  await migrateAsNewer('0001-initial-schema');
  await using started = await startServer(environment);
  await started.server.url(); // it listens
  expect((await started.server.readiness()).status).toBe(200);
});

/** For what takes a second on a machine that does nothing else. */
const PATIENTLY = { timeout: 25_000, interval: 100 };
