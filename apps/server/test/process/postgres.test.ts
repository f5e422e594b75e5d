import { openPersistence } from '@petstore/persistence';
import { PATIENTLY, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { composeServer } from '../support/composed-server.ts';
import { createServerDatabase, importDemoOrders, KEYS } from '../support/database.ts';

test('a burst waits for the connections that PostgreSQL has room for, and one line says so', async () => {
  await using database = await createServerDatabase();
  await importDemoOrders(database.url);
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(`create role narrow login password 'narrow' connection limit 4`);
  await client.query('grant select, insert, update, delete on all tables in schema public to narrow');
  await client.end();
  const url = Object.assign(new URL(database.url), { username: 'narrow', password: 'narrow' });
  await using started = await composeServer({ DATABASE_URL: url.href, DATABASE_CONNECTIONS: '20' });
  const publicUrl = await started.server.url();
  const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
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
  await using started = await composeServer({ DATABASE_URL: href });
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

test('a server that runs goes on although a newer release has migrated its database, also after PostgreSQL was away', async () => {
  await using postgres = await startPostgresServer();
  {
    await using persistence = openPersistence({ databaseUrl: postgres.url });
    await persistence.migrations.migrate();
  }
  await using started = await composeServer({ DATABASE_URL: postgres.url });
  const { server } = started;
  await server.url();
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query(`insert into schema_migrations (name) values ('9999-from-the-future')`);
  await client.end();
  await postgres.kill();
  await vi.waitFor(async () => expect((await server.readiness()).status).toBe(503), PATIENTLY);
  await postgres.restart();
  await vi.waitFor(async () => expect((await server.readiness()).status).toBe(200), PATIENTLY);
  await server.said(/migrated by a newer version; this server keeps running until it is stopped/);
});
