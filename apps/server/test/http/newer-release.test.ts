import { ORDER_COMMANDS } from '@petstore/domain';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey, createServerDatabase } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { useTestApp } from './support/test-app.ts';
import { mutate, query } from './support/trpc-calls.ts';

// While releases are mixed, or after going back, the database holds what only a newer release knows.

const database = await createServerDatabase();
afterAll(() => database[Symbol.asyncDispose]());
const app = await useTestApp({ databaseUrl: database.url, trustedProxies: true, isOfThisRelease: false });
const AT = '2026-11-20T12:00:00.000Z';

const run = async (sql: string, values: unknown[] = []): Promise<void> => {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(sql, values).finally(() => client.end());
};

beforeAll(async () => {
  // As the migration of a state would.
  await run('alter table orders drop constraint orders_state_check');
  const facts = `7, 2, false, 'of_tomorrow', '${AT}', '${AT}'`;
  const columns = 'pet_id, quantity, complete, status, placed_at, shipped_at';
  await run(`insert into orders (id, ${columns}) values (70, ${facts})`);
  await run(`insert into order_events (type, at, actor, order_id, ${columns})
    values ('order.of_tomorrow', '${AT}', 'service', 70, ${facts})`);
});

describe('an order in a state that only a newer release knows', () => {
  test('is listed in v1 with its five fields', async () => {
    const orders = await (await app.fetch('/v1/store/orders')).text();
    expect(orders).toContain('{"id":70,"petId":7,"quantity":2,"complete":false}');
  });

  test('is listed and found in v2 with its state', async () => {
    const times = { placedAt: AT, shippedAt: AT };
    const order = { id: '70', petId: '7', quantity: 2, complete: false, status: 'of_tomorrow', ...times };
    expect(await (await app.fetch('/v2/store/orders/70')).json()).toEqual(order);
    expect(await (await app.fetch('/v2/store/orders?petId=7')).text()).toContain(JSON.stringify(order));
  });

  test('is listed and found over tRPC with its state and times', async () => {
    const order = { id: 70n, petId: 7n, quantity: 2, complete: false, status: 'of_tomorrow', placedAt: new Date(AT) };
    expect((await query(app, 'orders.get', { orderId: 70n })).data).toMatchObject(order);
  });

  test('appears in the events with a type that is passed on as text', async () => {
    const { events } = JSON.parse(await (await app.fetch('/v2/store/order-events?after=0')).text());
    expect(events.at(-1)).toMatchObject({ type: 'order.of_tomorrow', orderId: '70', order: { status: 'of_tomorrow' } });
    expect((await query(app, 'orders.events', { after: '0' })).data).toMatchObject({
      events: [{ type: 'order.of_tomorrow', order: { status: 'of_tomorrow' } }],
    });
  });

  test.each(['v1', 'v2'])('cannot be cancelled in %s for now', async (version) => {
    await expectError(await app.fetch(`/${version}/store/orders/70`, { method: 'DELETE' }), 'service_unavailable');
  });

  test.each(ORDER_COMMANDS)('refuses to %s over tRPC for now', async (command) => {
    const { status, error } = await mutate(app, `orders.${command}`, { orderId: 70n }, { key: app.internalKey });
    expect([status, error?.data['errorCode']]).toEqual([503, 'service_unavailable']);
  });
});

test('a key of a plan that only a newer release knows is refused for now, under the headers of its address, and is not counted', async () => {
  const { text: key, id } = await createKey(app.persistence, { plan: { name: 'free' } });
  await run(`update api_keys set plan = 'of_tomorrow' where id = $1`, [id]);
  const headers = { 'x-forwarded-for': '198.51.100.77' };
  for (let i = 0; i < 2; i++) {
    const response = await app.fetch('/v2/limits', { key, headers });
    expect(response.headers.get('x-ratelimit-limit')).toBe('600');
    expect(response.headers.get('x-ratelimit-remaining')).toBe('600');
    await expectError(response, 'service_unavailable');
  }
  expect((await app.fetch('/v2/limits')).status).toBe(200); // the store counts as there
});
