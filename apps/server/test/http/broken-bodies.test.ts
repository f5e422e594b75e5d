import { once } from 'node:events';
import type { RateLimiter } from '@petstore/rate-limit';
import { expect, test } from 'vitest';
import { placeOrder } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { openRaw } from './support/raw-http.ts';
import { LIST_BEGIN, LIST_END, listingOf, overriding } from './support/replaced-parts.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const WARNING = 40;

const chunked = (line: string, { key }: TestApp, ...headers: string[]) =>
  [
    `${line} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Transfer-Encoding: chunked',
    ...headers,
    '',
    '',
  ].join('\r\n');
const NO_CHUNK = 'zzz\r\n';

const warningsOf = ({ logLines }: TestApp) => logLines.filter(({ level }) => level >= WARNING);

/** An app whose commands wait for `letGo`, and its limiter for `admit` if it is said to. */
async function startHeldApp({ isLimiterHeld = false } = {}) {
  const [gate, admission] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [begun, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  if (!isLimiterHeld) admission.resolve();
  const app = await startTestApp({
    wrap: {
      orders: (orders) =>
        overriding(orders, {
          async applyCommand(...args) {
            begun.resolve();
            await gate.promise;
            return orders.applyCommand(...args);
          },
        }),
      limiter: (limiter: RateLimiter) =>
        overriding(limiter, {
          async check(subject, cost) {
            asked.resolve();
            await admission.promise;
            return limiter.check(subject, cost);
          },
        }),
    },
  });
  return {
    app,
    commandBegun: begun.promise,
    letGo: () => gate.resolve(),
    limiterAsked: asked.promise,
    admit: () => admission.resolve(),
  };
}

test('a DELETE whose body turns out malformed while it is served is told what was done', async () => {
  const { app: held, commandBegun, letGo } = await startHeldApp();
  await using app = held;
  const { id } = await placeOrder(app.persistence);
  using connection = await openRaw({ port: app.port });
  connection.write(chunked(`DELETE /v1/store/orders/${id}`, app));
  await commandBegun;
  const failed = once(app.app.server, 'clientError');
  connection.write(NO_CHUNK);
  await failed;
  letGo();
  expect(await connection.read()).toMatchObject({ status: 204, headers: { connection: 'close' } });
  expect(await connection.readToEnd()).toBe('');
  expect(await app.persistence.orders.findOrder(id)).toMatchObject({ status: 'cancelled' });
  expect(warningsOf(app)).toEqual([]);
});

test('a DELETE whose body turns out malformed before it is served is refused, and changes nothing', async () => {
  const { app: held, limiterAsked, admit, letGo } = await startHeldApp({ isLimiterHeld: true });
  await using app = held;
  letGo();
  const { id } = await placeOrder(app.persistence);
  using connection = await openRaw({ port: app.port });
  connection.write(chunked(`DELETE /v1/store/orders/${id}`, app));
  await limiterAsked;
  const failed = once(app.app.server, 'clientError');
  connection.write(NO_CHUNK);
  await failed;
  admit();
  const refused = await expectError(await connection.read(), 'invalid_request');
  expect(refused.headers['connection']).toBe('close');
  expect(await connection.readToEnd()).toBe('');
  expect(await app.persistence.orders.findOrder(id)).toMatchObject({ status: 'pending' });
  expect(warningsOf(app)).toEqual([]);
});

test('a list that is being sent when the body of its request turns out malformed comes to its end', async () => {
  const gate = Promise.withResolvers<void>();
  await using app = await startTestApp(
    listingOf(async function* held() {
      yield LIST_BEGIN;
      await gate.promise;
      yield LIST_END;
    }),
  );
  using connection = await openRaw({ port: app.port });
  connection.write(chunked('GET /v1/store/orders', app));
  await once(connection.socket, 'data');
  const failed = once(app.app.server, 'clientError');
  connection.write(NO_CHUNK);
  await failed;
  gate.resolve();
  expect(await connection.read()).toMatchObject({ status: 200, body: '[]' });
  expect(await connection.readToEnd()).toBe('');
  expect(warningsOf(app)).toEqual([]);
});

test('a POST whose body turns out malformed gets one response, and no warning is logged', async () => {
  await using app = await startTestApp();
  using connection = await openRaw({ port: app.port });
  connection.write(`${chunked('POST /trpc/orders.cancel', app, 'Content-Type: application/json')}1\r\n{\r\n`);
  await expect.poll(() => app.app.traffic.requestsInFlight.count, { timeout: 20_000 }).toBe(1);
  connection.write(NO_CHUNK);
  const response = await connection.read();
  expect(response).toMatchObject({
    status: 400,
    headers: { 'x-ratelimit-limit': '1000000000', connection: 'close' },
    body: expect.stringContaining('"errorCode":"invalid_request"'),
  });
  expect(await connection.readToEnd()).toBe('');
  expect(warningsOf(app)).toEqual([]);
});
