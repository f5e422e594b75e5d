import {
  createTestDatabase,
  REPLICATION_PARAMETERS,
  startPgBouncer,
  startPostgresServer,
  startPostgresStandby,
} from '@petstore/testing';
import { expect, test } from 'vitest';
import { importDemoOrders, KEYS, prepareServerDatabase } from '../support/database.ts';
import { startServer } from '../support/spawned-server.ts';

const PATIENTLY = { timeout: 25_000, interval: 100 };

const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };

test('a server with two hosts in DATABASE_URL lists while neither takes writes, and goes on after a failover', async () => {
  await using primary = await startPostgresServer(REPLICATION_PARAMETERS);
  await prepareServerDatabase(primary.url);
  await importDemoOrders(primary.url);
  await using standby = await startPostgresStandby(primary, { synchronous: true });
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
  const databaseUrl = primary.url.replace(`127.0.0.1:${primary.port}`, hosts);
  await using started = await startServer({ DATABASE_URL: `${databaseUrl}?target_session_attrs=read-write` });
  const { server } = started;
  const url = await server.url();
  const list = () => fetch(`${url}/v1/store/orders`, { headers }).then((response) => response.json());
  const cancel = (id: number) =>
    fetch(`${url}/v1/store/orders/${id}`, { method: 'DELETE', headers }).then(({ status }) => status);
  const orders = await list();
  const readiness = () => server.readiness().then(({ status, report }) => [status, report['postgres']]);
  expect(await readiness()).toEqual([200, 'up']);
  expect(server.stdout).toContain(`PostgreSQL at ${hosts}/postgres`);

  await primary.kill();
  await expect.poll(readiness, PATIENTLY).toEqual([503, 'read-only']);
  expect(await list()).toEqual(orders);
  expect(await cancel(1)).toBe(503);
  await standby.promote();
  await expect.poll(() => cancel(2), PATIENTLY).not.toBe(503);
  await expect.poll(readiness, PATIENTLY).toEqual([200, 'up']);
  expect(await cancel(3)).not.toBe(503);
});

test('a server behind a pooler in transaction mode never becomes ready, and says why', async () => {
  await using database = await createTestDatabase();
  await using pooler = await startPgBouncer(database.url, { poolMode: 'transaction' });
  await using started = await startServer({ DATABASE_URL: pooler.url });
  const { server } = started;
  await server.said(/PostgreSQL is unavailable/);
  for (let look = 0; look < 20; look++) {
    const { status, report } = await server.readiness();
    expect(status).toBe(503);
    expect(JSON.stringify(report['problems'])).toContain('pooler in transaction mode');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(server.stdout).not.toContain('listening on');
});
