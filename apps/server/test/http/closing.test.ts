import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { placeOrder } from '../support/database.ts';
import { openRaw } from './support/raw-http.ts';
import { LIST_BEGIN, LIST_END, overriding, withListing } from './support/replaced-parts.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const request = (key: string, line: string) => `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Resolves when an app that closes has stopped listening, which is after its period of grace. */
const takesNobody = ({ app: { server } }: TestApp) =>
  expect.poll(() => server.listening, { timeout: 20_000, interval: 5 }).toBe(false);

/** An app whose commands and lists wait for `letGo`. */
async function startHeldApp() {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
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
    },
  });
  return { app, commandBegun: begun.promise, letGo: () => gate.resolve() };
}

describe('a listener that closes', () => {
  test('finishes requests in progress, with Connection: close', async () => {
    const { app, commandBegun, letGo } = await startHeldApp();
    const { id } = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    connection.write(request(app.key, `DELETE /v1/store/orders/${id}`));
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
    connection.write(request(app.key, 'GET /v1/store/orders'));
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
    connection.write(request(app.key, 'GET /v1/store/orders'));
    expect(await connection.read()).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
    const closed = app.app.close();
    connection.write(request(app.key, `DELETE /v1/store/orders/${order.id}`));
    expect(await connection.read()).toMatchObject({ status: 204, headers: { connection: 'close' } });
    await closed;
    await app[Symbol.asyncDispose]();
  });

  test('serves requests that were pipelined behind one in progress', async () => {
    const { app, commandBegun, letGo } = await startHeldApp();
    const { id } = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    const behind = Array.from({ length: 20 }, (_, i) => request(app.key, `GET /v1/nothing${i}`));
    connection.write(request(app.key, `DELETE /v1/store/orders/${id}`) + behind.join(''));
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
    idle.write(request(app.key, 'GET /v1/store/orders'));
    await idle.read();
    const began = performance.now();
    await app.app.close();
    expect(performance.now() - began).toBeLessThan(20_000); // keepAliveTimeoutMs is 72,000
    await expect(openRaw({ port: app.port })).rejects.toThrow('ECONNREFUSED');
    await app[Symbol.asyncDispose]();
  });
});
