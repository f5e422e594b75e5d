import pg from 'pg';
import { expect, test } from 'vitest';
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
