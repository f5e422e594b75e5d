import { openPersistence } from '@petstore/persistence';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createKey, createServerDatabase, placeOrder, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { startTestApp, type TestApp, useTestApp } from './support/test-app.ts';
import { query, subscribe } from './support/trpc-calls.ts';

const PATH = '/v2/store/order-events';
const shared = await useTestApp({ orders: 2_500 });

interface Page {
  readonly events: readonly { readonly id: string; readonly type: string }[];
  readonly nextAfter: string;
}

/** What a page holds, and where the next one begins. */
async function readPage(app: TestApp, search: string, key = app.key): Promise<readonly [string[], string]> {
  const response = await app.fetch(`${PATH}?${search}`, { key });
  expect(response.status).toBe(200);
  const { events, nextAfter }: Page = await response.json();
  return [events.map(({ id, type }) => `${id} ${type}`), nextAfter];
}

const deleteAllEvents = ({ persistence }: TestApp) => {
  const now = new Date(Date.now() + 1_000);
  return persistence.events.deleteExpired({ eventsBefore: now, now, signal: new AbortController().signal });
};

describe('changes of orders to poll', () => {
  test('are those that a subscription gives, for keys of every kind', async () => {
    await using app = await startTestApp();
    await using following = await subscribe(app, { after: '0' });
    await placeOrder(app.persistence, 'ship', 'complete');
    const followed = await following.take(3);
    const { text: readOnly } = await createKey(app.persistence, { readOnly: true });
    for (const key of [app.key, app.internalKey, readOnly]) {
      expect(await readPage(app, 'after=0', key)).toEqual([followed, '3']);
    }
    const { data } = await query(app, 'v2.orders.events', { after: '2' });
    expect(data).toMatchObject({
      events: [{ id: '3', type: 'order.completed', at: expect.any(Date) }],
      nextAfter: '3',
    });
  });

  test('come page by page, each once, and then the position stays', async () => {
    const ids: string[] = [];
    const sizes: number[] = [];
    let [lines, after] = await readPage(shared, 'after=0&limit=1000');
    for (; lines.length > 0; [lines, after] = await readPage(shared, `after=${after}&limit=1000`)) {
      sizes.push(lines.length);
      ids.push(...lines.map((line) => line.split(' ')[0] ?? ''));
    }
    expect(sizes).toEqual([1_000, 1_000, 500]);
    expect(ids).toEqual(Array.from({ length: 2_500 }, (_, i) => String(i + 1)));
    expect(await readPage(shared, '')).toEqual([[], '2500']);
    expect(after).toBe('2500');
  });

  test('cost one request, whatever they hold, and none more for HEAD', async () => {
    const { text: key } = await createKey(shared.persistence, { plan: planOf(10) });
    const remaining = async (method: string, search: string) => {
      const response = await shared.fetch(`${PATH}?${search}`, { method, key });
      return [response.status, response.headers.get('x-ratelimit-remaining')];
    };
    expect(await remaining('GET', 'after=0&limit=1000')).toEqual([200, '9']);
    expect(await remaining('GET', 'after=2500')).toEqual([200, '8']);
    expect(await remaining('HEAD', 'after=0')).toEqual([200, '7']);
  });

  test('do not say who made them', async () => {
    await using app = await startTestApp();
    const { id } = await placeOrder(app.persistence);
    await app.fetch(`/v2/store/orders/${id}`, { method: 'DELETE' });
    const response = await app.fetch(`${PATH}?after=1`);
    expect(Object.keys((await response.json()).events[0])).toEqual(['id', 'type', 'orderId', 'at', 'order']);
  });

  test('are not passed over when another transaction commits first', async () => {
    await using database = await createServerDatabase();
    await using app = await startTestApp({ databaseUrl: database.url });
    await using resources = new AsyncDisposableStack();
    const writer = resources.adopt(new pg.Client({ connectionString: database.url }), (client) => client.end());
    await writer.connect();
    await writer.query(`
      begin;
      insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
      values ('order.placed', now(), 'service', 11, 1, 1, 'pending', false, now())`);
    await placeOrder(app.persistence);
    expect(await readPage(app, 'after=0')).toEqual([[], '0']);
    await expectError(await app.fetch(PATH), 'service_unavailable');
    await writer.query('commit');
    expect(await readPage(app, 'after=0')).toEqual([['1 order.placed', '2 order.placed'], '2']);
  });

  test('that were deleted are told apart from none', async () => {
    await using app = await startTestApp({ orders: 2 });
    await deleteAllEvents(app);
    await expectError(await app.fetch(`${PATH}?after=1`), 'events_expired');
    for (const search of ['', 'after=0', 'after=2']) expect(await readPage(app, search)).toEqual([[], '2']);
    await placeOrder(app.persistence);
    expect(await readPage(app, 'after=2')).toEqual([['3 order.placed'], '3']);
    await expectError(await app.fetch(`${PATH}?after=4`), 'invalid_request');
  });

  test('go on behind a position after the rows alone were restored, with sequences that begin anew', async () => {
    await using database = await createServerDatabase({ orders: 5 });
    await using app = await startTestApp({ databaseUrl: database.url });
    await using resources = new AsyncDisposableStack();
    const client = resources.adopt(new pg.Client({ connectionString: database.url }), (each) => each.end());
    await client.connect();
    const [, after] = await readPage(app, '');
    await client.query(`select setval('order_events_id_seq', 1, false), setval('orders_id_seq', 1, false)`);
    await using restored = openPersistence({ databaseUrl: database.url });
    await restored.sequences.align();
    await placeOrder(restored);
    expect(await readPage(app, `after=${after}`)).toEqual([['6 order.placed'], '6']);
  });
});
