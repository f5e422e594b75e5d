import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { placeOrder } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { openRaw, request } from './support/raw-http.ts';
import { LIST_BEGIN, LIST_END, overriding, withListing } from './support/replaced-parts.ts';
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

/** An app whose commands and lists wait for `letGo`, and its limiter for `admit` if it is said to. */
async function startHeldApp({ isLimiterHeld = false } = {}) {
  const [gate, admission] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [begun, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  if (!isLimiterHeld) admission.resolve();
  const app = await startTestApp({
    wrap: {
      orders: (orders) =>
        overriding(
          withListing(orders, async function* held() {
            yield LIST_BEGIN;
            await gate.promise;
            yield LIST_END;
          }),
          {
            async applyCommand(...args) {
              begun.resolve();
              await gate.promise;
              return orders.applyCommand(...args);
            },
          },
        ),
      limiter: (limiter) =>
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
  const { app: held, letGo } = await startHeldApp();
  await using app = held;
  using connection = await openRaw({ port: app.port });
  connection.write(chunked('GET /v1/store/orders', app));
  await once(connection.socket, 'data');
  const failed = once(app.app.server, 'clientError');
  connection.write(NO_CHUNK);
  await failed;
  letGo();
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

/** Resolves when an app that closes has stopped listening, which is after its period of grace. */
const takesNobody = ({ app: { server } }: TestApp) =>
  expect.poll(() => server.listening, { timeout: 20_000, interval: 5 }).toBe(false);

describe('a listener that closes', () => {
  test('finishes requests in progress, with Connection: close', async () => {
    const { app, commandBegun, letGo } = await startHeldApp();
    const { id } = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    connection.write(request(`/v1/store/orders/${id}`, app.key, 'DELETE'));
    await commandBegun;
    const closed = app.app.close();
    await takesNobody(app);
    letGo();
    expect(await connection.read()).toMatchObject({ status: 204, headers: { connection: 'close' } });
    await closed;
    await app[Symbol.asyncDispose]();
  });

  test('finishes lists in progress', async () => {
    const { app, letGo } = await startHeldApp();
    using connection = await openRaw({ port: app.port });
    connection.write(request('/v1/store/orders', app.key));
    await once(connection.socket, 'data');
    const closed = app.app.close();
    await takesNobody(app);
    letGo();
    expect(await connection.read()).toMatchObject({ status: 200, body: '[]' });
    // The response had announced keep-alive, which must not keep the listener open.
    await closed;
    await app[Symbol.asyncDispose]();
  });

  test('serves a request that was sent on an idle connection just before', async () => {
    const app = await startTestApp({ bounds: { closingGraceMs: 1_000 } });
    const order = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    connection.write(request('/v1/store/orders', app.key));
    expect(await connection.read()).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
    const closed = app.app.close();
    connection.write(request(`/v1/store/orders/${order.id}`, app.key, 'DELETE'));
    expect(await connection.read()).toMatchObject({ status: 204, headers: { connection: 'close' } });
    await closed;
    await app[Symbol.asyncDispose]();
  });

  test('serves requests that were pipelined behind one in progress', async () => {
    const { app, commandBegun, letGo } = await startHeldApp();
    const { id } = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    const behind = Array.from({ length: 20 }, (_, i) => request(`/v1/nothing${i}`, app.key));
    connection.write(request(`/v1/store/orders/${id}`, app.key, 'DELETE') + behind.join(''));
    await commandBegun;
    const closed = app.app.close();
    await takesNobody(app);
    letGo();
    expect(await connection.read('DELETE')).toMatchObject({ status: 204, headers: { connection: 'keep-alive' } });
    const responses = (await connection.readToEnd()).match(/HTTP\/1.1 \d+/g) ?? [];
    expect(responses).toEqual(behind.map(() => 'HTTP/1.1 404'));
    await closed;
    await app[Symbol.asyncDispose]();
  });

  test('does not wait for idle connections, and accepts no new ones', async () => {
    const app = await startTestApp();
    using idle = await openRaw({ port: app.port });
    idle.write(request('/v1/store/orders', app.key));
    await idle.read();
    const began = performance.now();
    await app.app.close();
    expect(performance.now() - began).toBeLessThan(20_000); // keepAliveTimeoutMs is 72,000
    await expect(openRaw({ port: app.port })).rejects.toThrow('ECONNREFUSED');
    await app[Symbol.asyncDispose]();
  });
});
