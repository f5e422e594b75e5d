import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENTLY } from '@petstore/testing';
import { describe, type ExpectStatic, expect, test } from 'vitest';
import { openRaw, request } from './support/raw-http.ts';
import { LIST_BEGIN, LIST_END, overriding } from './support/replaced-parts.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const streamed = (path: string, key: string) =>
  request(path, key).replace('\r\n\r\n', '\r\ntrpc-accept: application/jsonl\r\n\r\n');
const REQUESTS = {
  'a list over REST': (key: string) => request('/v1/store/orders', key),
  'a list over tRPC': (key: string) => request('/trpc/orders.list', key),
  'a list over tRPC, streamed': (key: string) => streamed('/trpc/orders.list?batch=1&input=%7B%7D', key),
  'lists over tRPC, streamed': (key: string) => streamed('/trpc/orders.list,orders.list?batch=1&input=%7B%7D', key),
};

/** An app whose lists, or whose limiter, wait for `letGo`. */
async function startHeldApp(held: 'lists' | 'limiter', failure?: Error) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  async function* heldList() {
    begun.resolve();
    if (held === 'lists') await gate.promise;
    if (failure !== undefined) throw failure;
    yield LIST_BEGIN;
    await sleep(1);
    yield LIST_END;
  }
  const app = await startTestApp({
    wrap: {
      orders: (orders) =>
        overriding(orders, {
          listOrderTexts: heldList,
          async *listOrders() {
            for await (const { isLast } of heldList()) yield { orders: [], isLast };
          },
        }),
      limiter: (limiter) =>
        overriding(limiter, {
          async check(subject, cost) {
            if (held === 'limiter') {
              begun.resolve();
              await gate.promise;
            }
            return limiter.check(subject, cost);
          },
        }),
    },
  });
  return { app, begun: begun.promise, letGo: () => gate.resolve() };
}

/** Waits until the request is over for whoever serves it, too. */
async function settle({ app, observed }: TestApp, { poll }: Pick<ExpectStatic, 'poll'> = expect): Promise<void> {
  await poll(() => observed.length, PATIENTLY).toBeGreaterThan(0);
  await poll(() => app.traffic.requestsInFlight.count, PATIENTLY).toBe(0);
  await sleep(100);
}

const failuresOf = ({ logLines, errorCodes }: TestApp) => ({
  lines: logLines.filter(({ level }) => level > 30),
  errorCodes,
});
const NO_FAILURES = { lines: [], errorCodes: [] };

const WAYS_TO_LEAVE = Object.entries(REQUESTS).flatMap(([what, requestOf]) =>
  (['destroy', 'resetAndDestroy'] as const).flatMap((end) =>
    (['limiter', 'lists'] as const).map((held) => ({ what, requestOf, end, held })),
  ),
);

describe.concurrent('is neither an error nor counted as one', () => {
  test.for(WAYS_TO_LEAVE)('who leaves ($end) $what that waits for its $held', async (way, { expect }) => {
    const { what, requestOf, end, held } = way;
    const { app: heldApp, begun, letGo } = await startHeldApp(held);
    await using app = heldApp;
    using connection = await openRaw({ port: app.port });
    connection.write(requestOf(app.key));
    await begun;
    connection.socket[end]();
    await expect.poll(() => app.app.traffic.connections.count, PATIENTLY).toBe(0);
    letGo();
    await settle(app, expect);
    expect(failuresOf(app)).toEqual(NO_FAILURES);
    if (!what.includes('streamed') || held === 'limiter') expect(app.observed).toMatchObject([{ status: 499 }]);
  });
});

test('who leaves a list at whatever moment is neither an error nor counted as one', async () => {
  await using app = await startTestApp();
  await app.persistence.orders.generateOrders({ count: 5_000, seed: 1, now: new Date() });
  for (let i = 0; i < 80; i++) {
    using connection = await openRaw({ port: app.port });
    connection.write((Object.values(REQUESTS)[i % 4] ?? expect.fail())(app.key));
    await sleep(Math.floor(i / 4) % 8);
    connection.socket.destroy();
  }
  await settle(app);
  const { lines, errorCodes } = failuresOf(app);
  expect(lines).toEqual([]);
  expect(new Set(errorCodes)).not.toContain('internal_error');
});

test.each([
  ['/trpc/orders.cancel', 'Content-Length: 100\r\n\r\n{'],
  ['/trpc/orders.cancel', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ['/trpc/orders.cancel,orders.cancel?batch=1', 'Content-Length: 100\r\n\r\n{'],
])('who resets the connection within the body of a POST of %s is no error either: %j', async (path, rest) => {
  await using app = await startTestApp();
  using connection = await openRaw({ port: app.port });
  const head = request(path, app.key, 'POST').slice(0, -2);
  connection.write(`${head}Content-Type: application/json\r\n${rest}`);
  await expect.poll(() => app.app.traffic.requestsInFlight.count, PATIENTLY).toBe(1);
  await sleep(50); // until its body is being read
  connection.socket.resetAndDestroy();
  await settle(app);
  expect(failuresOf(app)).toEqual(NO_FAILURES);
  expect(app.observed).toMatchObject([{ status: 499 }]);
});

test('who ends the connection within the body of a POST, and resets it before the response, is refused once', async () => {
  await using app = await startTestApp({
    extend: (fastify) => void fastify.addHook('onSend', async () => sleep(200)),
  });
  using connection = await openRaw({ port: app.port });
  const head = request('/trpc/orders.cancel', app.key, 'POST').slice(0, -2);
  connection.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
  await expect.poll(() => app.app.traffic.requestsInFlight.count, PATIENTLY).toBe(1);
  await sleep(50); // until its body is being read
  connection.socket.end();
  await sleep(50);
  connection.socket.resetAndDestroy();
  await settle(app);
  expect(app.logLines.filter(({ level }) => level > 30)).toEqual([]);
  expect(app.observed).toHaveLength(1);
});

test('a fault of the service that comes after its caller has left is logged all the same, and counted as no response', async () => {
  const { app: heldApp, begun, letGo } = await startHeldApp('lists', new Error('the disk is gone'));
  await using app = heldApp;
  using connection = await openRaw({ port: app.port });
  connection.write(request('/trpc/orders.list', app.key));
  await begun;
  connection.socket.destroy();
  await expect.poll(() => app.app.traffic.connections.count, PATIENTLY).toBe(0);
  letGo();
  await settle(app);
  const { lines, errorCodes } = failuresOf(app);
  expect([lines, errorCodes]).toMatchObject([[{ err: { message: 'the disk is gone' } }], []]);
});
