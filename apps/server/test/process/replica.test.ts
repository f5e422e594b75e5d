import { openPersistence } from '@petstore/persistence';
import { PATIENTLY, REPLICATION_PARAMETERS, startPostgresServer, startPostgresStandby } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { KEYS } from '../support/keys.ts';
import { prepareServerDatabase } from '../support/template-database.ts';
import { startServer } from './support/start-server.ts';

test('long lists are read from a replica while it can be used; the log and the metrics say where', async () => {
  await using primary = await startPostgresServer(REPLICATION_PARAMETERS);
  await using standby = await startPostgresStandby(primary);
  await prepareServerDatabase(primary.url);
  {
    await using persistence = openPersistence({ databaseUrl: primary.url });
    await persistence.orders.generateOrders({ count: 3_000, seed: 1, now: new Date() });
  }
  await using started = await startServer({ DATABASE_URL: primary.url, DATABASE_REPLICA_URL: standby.url });
  const { server } = started;
  const [url, adminUrl] = [await server.url(), await server.adminUrl()];
  const countListed = async () => {
    const response = await fetch(`${url}/v1/store/orders`, {
      headers: { authorization: `Bearer ${KEYS.unlimited.text}` },
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as unknown[]).length;
  };
  const metric = async (name: string) => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    return text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1];
  };
  const FROM_REPLICA = 'petstore_long_reads_total{server="replica"}';
  const count = await countListed();
  expect(count).toBeGreaterThanOrEqual(3_000);

  await server.said(/long lists are read from the replica/);
  await vi.waitFor(async () => {
    expect(await countListed()).toBe(count);
    expect(Number(await metric(FROM_REPLICA))).toBeGreaterThan(0);
  }, PATIENTLY);
  expect(await metric('petstore_replica_up')).toBe('1');
  expect(Number(await metric('petstore_replica_lag_bytes'))).toBeGreaterThanOrEqual(0);

  await standby.kill();
  await server.said(/long lists are read from the primary/);
  const before = await metric(FROM_REPLICA);
  expect(await countListed()).toBe(count);
  expect(await metric(FROM_REPLICA)).toBe(before);
  expect(await metric('petstore_replica_up')).toBe('0');
  expect(await metric('petstore_replica_lag_bytes')).toBe('NaN');
});
