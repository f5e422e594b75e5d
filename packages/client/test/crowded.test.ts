import { expect, test } from 'vitest';
import { createPetstoreRestClient } from '../src/rest.ts';
import { startScriptedServer } from './support/scripted-server.ts';
import { VirtualClock } from './support/virtual-clock.ts';

/** A service that refuses the first list: not for its limits, of which so much is left, but for what is under way. */
async function startCrowdedService(remaining: number) {
  const requests: string[] = [];
  const server = await startScriptedServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    if (requests.length === 1) {
      const headers = { 'retry-after': '1', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': String(remaining) };
      const body = { code: 'rate_limit_exceeded', message: 'Too many requests.', status: 429 };
      response.writeHead(429, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
    } else if (method === 'DELETE') response.writeHead(204).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  });
  const clock = new VirtualClock();
  const client = createPetstoreRestClient({ baseUrl: server.origin, apiKey: 'key', clock });
  const list = client.listOrders().toArray();
  await expect.poll(() => requests).toHaveLength(1);
  return { client, clock, list, requests, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('a list that was refused for others under way is asked for again, and holds nothing else up', async () => {
  await using service = await startCrowdedService(59);
  const { client, clock, list, requests } = service;
  // Time stands still, so that none of these has waited for it.
  await Promise.all([1n, 2n, 3n].map((orderId) => client.cancelOrder({ orderId })));
  expect(requests).toHaveLength(4);
  while (requests.length < 5) await clock.runUntil(clock.now() + 1_000);
  expect(await list).toEqual([]);
});

test('a refusal for limits that are used up holds up all that follows', async () => {
  await using service = await startCrowdedService(0);
  const { client, clock, list, requests } = service;
  const cancel = client.cancelOrder({ orderId: 1n });
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(requests).toHaveLength(1);
  while (requests.length < 3) await clock.runUntil(clock.now() + 1_000);
  await Promise.all([list, cancel]);
});
