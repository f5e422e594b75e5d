import { orderId } from '@petstore/domain';
import superjson from 'superjson';
import { describe, expect, test } from 'vitest';
import { createKey, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { useTestApp } from './support/test-app.ts';
import { mutate, query } from './support/trpc-calls.ts';

const app = await useTestApp();
const { persistence } = app;
const { text: key } = await createKey(persistence, { readOnly: true });
const { id } = await placeOrder(persistence);
const readOrder = async () => (await query(app, 'orders.get', { orderId: id })).data;
const cancel = (path: string, of = key) => app.fetch(path, { method: 'DELETE', key: of });

describe.each(['/v1/store/orders', '/v2/store/orders'])('a read-only key under %s', (path) => {
  test.each(['GET', 'HEAD'])('may send %s', async (method) => {
    expect((await app.fetch(path, { method, key })).status).toBe(200);
  });

  test.each([String(id), '404404', '007', 'x'])(
    'may not cancel, and does not learn whether order %s exists',
    async (shown) => {
      const refused = await expectError(await cancel(`${path}/${shown}`), 'insufficient_scope');
      expect(refused.headers['www-authenticate']).toBe('Bearer realm="petstore", error="insufficient_scope"');
      expect(refused.body).toContain('Ask the operator of the service');
      expectRateLimitHeaders(refused);
    },
  );

  test('is told the path, the method and an unknown key first', async () => {
    await expectError(await cancel(`${path}/1/2`), 'route_not_found');
    await expectError(await cancel(path), 'method_not_allowed');
    await expectError(await cancel(`${path}/1`, key.replace(/^pso_demo/, 'pso_live')), 'invalid_api_key');
  });

  test('has its refused requests counted like any other, and is told its limit first', async () => {
    const { text: limited } = await createKey(persistence, { readOnly: true, plan: planOf(2) });
    const remaining = [await cancel(`${path}/1`, limited), await cancel(`${path}/1`, limited)];
    expect(remaining.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['1', '0']);
    await expectError(await cancel(`${path}/1`, limited), 'rate_limit_exceeded');
  });
});

describe('a read-only key over tRPC', () => {
  test('may call queries, and no mutation, even if it is internal', async () => {
    const { text: internal } = await createKey(persistence, { kind: 'internal', readOnly: true });
    expect((await query(app, 'orders.get', { orderId: id }, { key })).data).toMatchObject({ status: 'pending' });
    for (const name of ['orders.cancel', 'orders.place', 'orders.ship', 'orders.complete']) {
      const refused = await mutate(app, name, { orderId: orderId(404n) }, { key: internal });
      expect(refused.status).toBe(403);
      expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
      expect(refused.error?.data).toMatchObject({ code: 'FORBIDDEN', errorCode: 'insufficient_scope' });
    }
  });

  test('is refused each mutation of a batch', async () => {
    const response = await app.fetch('/trpc/orders.cancel,orders.nothing,orders.cancel?batch=1', {
      method: 'POST',
      key,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        0: superjson.serialize({ orderId: id }),
        1: {},
        2: superjson.serialize({ orderId: 404n }),
      }),
    });
    const refusal = { error: { json: { data: { code: 'FORBIDDEN', errorCode: 'insufficient_scope' } } } };
    const unknown = { error: { json: { data: { errorCode: 'route_not_found' } } } };
    expect(await response.json()).toMatchObject([refusal, unknown, refusal]);
  });
});

test('a read-only key has changed nothing', async () => {
  expect(await readOrder()).toMatchObject({ id, status: 'pending' });
});
