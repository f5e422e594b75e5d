import {
  type CancelledOrder,
  type CompletedOrder,
  generateApiKeyId,
  type NewOrder,
  type Order,
  orderId,
  PackedOrders,
  type PendingOrder,
  petId,
  type ShippedOrder,
} from '@petstore/domain';
import { createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type ImportRecord, openPersistence, type Persistence } from '../src/index.ts';

interface TestStore extends AsyncDisposable {
  readonly url: string;
  readonly persistence: Persistence;
  /** For what the persistence offers no way to do. */
  query(text: string, values?: unknown[]): Promise<pg.QueryArrayResult<string[]>>;
  /** Empties the tables of orders and pets; ids are counted from 1 again. */
  clear(): Promise<void>;
}

const template = {
  name: 'persistence',
  async prepare(databaseUrl: string) {
    await using persistence = openPersistence({ databaseUrl });
    await persistence.migrations.migrate();
  },
};

const asText = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig; // keeps every value as text

/** A database of its own with the whole schema, open. */
async function openTestStore(): Promise<TestStore> {
  const database = await createTestDatabase({ template });
  const persistence = openPersistence({ databaseUrl: database.url });
  const client = new pg.Client({ connectionString: database.url, types: asText });
  await client.connect();
  await client.query('set timezone to utc');
  return {
    url: database.url,
    persistence,
    query: (text, values) => client.query<string[]>({ text, rowMode: 'array', ...(values && { values }) }),
    async clear() {
      await client.query('truncate orders, pets restart identity');
    },
    async [Symbol.asyncDispose]() {
      await client.end();
      await persistence.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** A store for the tests of a file or of a group: open from before the first of them until after the last. */
export function useTestStore(): TestStore {
  const store = {} as TestStore; // nobody looks into it before it is filled
  beforeAll(async () => {
    Object.assign(store, await openTestStore());
  });
  afterAll(() => store[Symbol.asyncDispose]());
  return store;
}

export const NOW = new Date('2026-03-04T05:06:07.089Z');

/** The id of a key that does not exist. */
export const NOBODY = generateApiKeyId((count) => new Uint8Array(count));

export const newOrder = (facts: Partial<NewOrder> = {}): NewOrder => ({
  petId: petId(7n),
  quantity: 1,
  status: 'pending',
  complete: false,
  placedAt: NOW,
  ...facts,
});

const facts = (id: bigint) => ({ id: orderId(id), petId: petId(7n), quantity: 1, placedAt: NOW });

export const pendingOrder = (id: bigint): PendingOrder => ({ ...facts(id), status: 'pending', complete: false });
export const shippedOrder = (id: bigint): ShippedOrder => ({
  ...facts(id),
  status: 'shipped',
  complete: false,
  shippedAt: new Date('2026-03-05T00:00:00.000Z'),
});
export const completedOrder = (id: bigint): CompletedOrder => ({
  ...shippedOrder(id),
  complete: true,
  completedAt: new Date('2026-03-06T00:00:00.120Z'),
});
export const cancelledOrder = (id: bigint): CancelledOrder => ({
  ...facts(id),
  status: 'cancelled',
  complete: false,
  cancelledAt: new Date('2026-03-05T00:00:00.001Z'),
});

export async function* numbered<Value>(values: Iterable<Value>): AsyncGenerator<ImportRecord<Value>> {
  let line = 1;
  for (const value of values) yield { line: line++, value };
}

export async function importOrders({ persistence }: TestStore, orders: readonly Order[]): Promise<void> {
  const { insertedCount } = await persistence.orders.importOrders(numbered(orders));
  if (insertedCount !== orders.length) throw new Error('the orders of a test must be importable');
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function listedOrders({ persistence }: TestStore): Promise<Order[]> {
  return (await collect(persistence.orders.listOrders())).flat();
}

export async function listedText({ persistence }: TestStore): Promise<string> {
  return Buffer.concat(await collect(persistence.orders.listOrders().jsonChunks())).toString();
}

/** The long list, of which all but the beginning comes packed. */
export async function listedPacked({ persistence }: TestStore): Promise<Order[]> {
  const batches = await collect(persistence.orders.listOrders().packedBatches());
  return batches.flatMap((batch) => (batch instanceof PackedOrders ? unpack(batch) : batch));
}

/** Reads packed orders field by field, as their description says. */
function unpack({ bytes }: PackedOrders): Order[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const orders: Record<string, unknown>[] = [];
  let i = 0;
  const time = () => {
    i += 8;
    return new Date(view.getFloat64(i - 8));
  };
  while (i < bytes.length) {
    const flags = view.getUint8(i++);
    const status = ['pending', 'shipped', 'cancelled'][flags & 3];
    const complete = (flags & 4) !== 0;
    const order = { status, complete, id: view.getBigInt64(i), petId: view.getBigInt64(i + 8) };
    const quantity = view.getInt32(i + 16);
    i += 20;
    orders.push({
      ...order,
      quantity,
      placedAt: time(),
      ...((flags & 8) !== 0 && { shipDate: time() }),
      ...(status === 'shipped' && { shippedAt: time() }),
      ...(complete && { completedAt: time() }),
      ...(status === 'cancelled' && { cancelledAt: time() }),
    });
  }
  return orders as unknown as Order[]; // what was packed
}

/** Parses JSON without rounding integers: each becomes a bigint. */
export const parseExactly = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? BigInt(context.source) : value,
  );

/** What the REST representation of an order says, as {@link parseExactly} reads it. */
export const restFieldsOf = ({ id, petId: pet, quantity, shipDate, complete }: Order) => ({
  id,
  petId: pet,
  quantity: BigInt(quantity),
  ...(shipDate && { shipDate: shipDate.toISOString() }),
  complete,
});
