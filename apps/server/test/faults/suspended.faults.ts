import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { importDemoOrders, KEYS } from '../support/database.ts';
import { startServer } from '../support/spawned-server.ts';

/** How often the process is suspended, and for how long: longer than it waits for Redis and for a ping of PostgreSQL. */
const SUSPENSIONS = 3;
const SUSPENDED_MS = 2_500;

test('a server that is suspended under load fails no request, and uses PostgreSQL and Redis at once', async () => {
  await using started = await startServer();
  await importDemoOrders(started.databaseUrl);
  const { server } = started;
  const url = await server.url();
  const statuses = new Map<number, number>();
  let isOver = false;
  const callers = Array.from({ length: 20 }, async () => {
    while (!isOver) {
      const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
      const response = await fetch(`${url}/v1/store/orders`, { headers });
      await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      await sleep(20);
    }
  });
  for (let i = 0; i < SUSPENSIONS; i++) {
    await sleep(1_000);
    process.kill(server.pid, 'SIGSTOP');
    await sleep(SUSPENDED_MS);
    process.kill(server.pid, 'SIGCONT');
  }
  await sleep(1_000);
  isOver = true;
  await Promise.all(callers);
  expect([...statuses.keys()]).toEqual([200]);
  expect(server.logLines('PostgreSQL is unavailable; waiting for it')).toEqual([]);
  const ready = { problems: [], postgres: 'up', limits: 'redis' };
  await expect.poll(async () => (await server.readiness()).report, { timeout: 10_000 }).toMatchObject(ready);
});
