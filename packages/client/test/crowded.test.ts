import { expect, test } from 'vitest';
import { startScriptedServer } from './support/scripted-server.ts';
import { createTestRestClient } from './support/test-clients.ts';
import { TestClock } from './support/test-clock.ts';

/**
 * A service that refuses the first list, because too much is in flight or because the limits are used up, as its code says.
 * The client has read the refusal, and waits: its clock is held.
 */
async function startCrowdedService(code: 'too_many_in_flight' | 'rate_limit_exceeded') {
  const requests: string[] = [];
  const server = await startScriptedServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    if (requests.length === 1) {
      const headers = { 'retry-after': '1', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' };
      const body = { code, message: 'Too many requests.', status: 429 };
      response.writeHead(429, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
    } else if (method === 'DELETE') response.writeHead(204).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  });
  const clock = new TestClock();
  const { timeoutMs } = clock;
  const client = createTestRestClient({ baseUrl: server.origin, apiKey: 'key', clock, timeoutMs });
  clock.hold();
  const list = client.listOrders().toArray();
  await expect.poll(() => clock.waitCount, { timeout: 20_000 }).toBe(1);
  return { client, clock, list, requests, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('a list that was refused because of others in flight is requested again, and holds up no other call', async () => {
  await using service = await startCrowdedService('too_many_in_flight');
  const { client, clock, list, requests } = service;
  await Promise.all([1n, 2n, 3n].map((orderId) => client.cancelOrder({ orderId })));
  expect(requests).toHaveLength(4);
  clock.release();
  expect(await list).toEqual([]);
  expect(requests).toHaveLength(5);
});

test('a refusal because the limits are used up holds up all that follows', async () => {
  await using service = await startCrowdedService('rate_limit_exceeded');
  const { client, clock, list, requests } = service;
  const cancel = client.cancelOrder({ orderId: 1n });
  await expect.poll(() => clock.waitCount).toBe(2);
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(requests).toHaveLength(1);
  clock.release();
  await Promise.all([list, cancel]);
  expect(requests).toHaveLength(3);
});
