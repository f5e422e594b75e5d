import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient, transformer } from '@petstore/client';
import type { OrderRepository } from '@petstore/domain';
import { readMemoryInUse } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../http/support/test-app.ts';
import { overriding } from '../support/overriding.ts';

const COUNT = 200_000;
/** Of a list of {@link COUNT} orders, which takes some 50 MB as objects; a few megabytes come and go with the garbage. */
const LITTLE_BYTES = 20_000_000;

/** For a whole list, on a machine that is busy with other tests. */
const LONG = { timeout: 180_000 };

/** For events that follow soon, on a machine that does nothing else. */
const SOON = { timeout: 20_000 };

const clientOf = ({ origin, key }: TestApp) => createPetstoreClient({ baseUrl: origin, apiKey: key });

let app: TestApp;
/** How many batches the server has taken from the database, in all listings together. */
let batchesTaken = 0;
let endedListings = 0;
beforeAll(async () => {
  app = await startTestApp({ orders: COUNT, wrap: { orders: counted } });
});
afterAll(() => app[Symbol.asyncDispose]());

/** The real repository, whose batches are counted. */
const counted = (orders: OrderRepository) =>
  overriding(orders, {
    async *listOrders() {
      try {
        for await (const batch of orders.listOrders()) {
          batchesTaken++;
          yield batch;
        }
      } finally {
        endedListings++;
      }
    },
  });

/** Waits until the server takes no more batches. @returns how many it took until then */
async function batchesTakenAtRest(): Promise<number> {
  for (;;) {
    const before = batchesTaken;
    await sleep(300);
    if (batchesTaken === before) return before;
  }
}

describe('a long list over tRPC', () => {
  test(
    'is never in memory as a whole, in the server or in a client that keeps up, and holds every order once',
    LONG,
    async () => {
      const before = await readMemoryInUse();
      batchesTaken = 0;
      let peak = 0;
      let count = 0;
      let batches = 0;
      let lastId = 0n;
      let isAscending = true;
      for await (const batch of await clientOf(app).orders.list.query()) {
        for (const { id } of batch) {
          isAscending &&= id > lastId;
          lastId = id;
        }
        count += batch.length;
        if (++batches % 30 === 0) peak = Math.max(peak, await readMemoryInUse());
      }
      expect(count).toBe(COUNT);
      expect(isAscending).toBe(true);
      expect(peak - before).toBeLessThan(LITTLE_BYTES);
      expect(batchesTaken).toBe(1 + Math.ceil((COUNT - 250) / 4_000));
    },
  );

  test('ends when its client stops iterating', async () => {
    endedListings = 0;
    for await (const batch of await clientOf(app).orders.list.query()) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => endedListings, SOON).toBe(1);
  });

  test.each([0, 500])('ends when its client aborts after %i ms', async (delayMs) => {
    endedListings = 0;
    const abort = new AbortController();
    const list = await clientOf(app).orders.list.query(undefined, { signal: abort.signal });
    const read = async () => {
      let batches = 0;
      for await (const _ of list) {
        if (++batches !== 2) continue;
        await sleep(delayMs);
        abort.abort();
      }
    };
    await expect(read()).rejects.toThrow();
    await expect.poll(() => endedListings, SOON).toBe(1);
  });

  test('waits for clients that do not read, buffers little for them, and serves others', async () => {
    const before = await readMemoryInUse();
    batchesTaken = 0;
    using sockets = new DisposableStack();
    const input = encodeURIComponent(JSON.stringify({ 0: transformer.serialize(undefined) }));
    for (let i = 0; i < 5; i++) {
      const socket = sockets.adopt(connect(app.port, '127.0.0.1').pause(), (open) => void open.destroy());
      socket.write(
        `GET /trpc/orders.list?batch=1&input=${input} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n` +
          'trpc-accept: application/jsonl\r\n\r\n',
      );
    }
    await expect.poll(() => batchesTaken, SOON).toBeGreaterThan(5);
    expect(await batchesTakenAtRest()).toBeLessThan(5 * 120);
    expect((await readMemoryInUse()) - before).toBeLessThan(LITTLE_BYTES);
    // The other readers never read, so a request that waited for them would never end.
    expect((await app.fetch('/v1/pets/1')).status).toBe(404);
  });
});

test('a list is streamed only to whom tRPC streams: to others it is one array', async () => {
  await using small = await startTestApp({ orders: 3 });
  for (const path of ['/trpc/orders.list', '/trpc/orders.list?batch=1']) {
    const response = await small.fetch(path, { headers: { 'trpc-accept': 'application/json, application/jsonl' } });
    expect(response.status).toBe(200);
    const body = await response.json();
    const { result } = Array.isArray(body) ? body[0] : body;
    expect(transformer.deserialize(result.data)).toHaveLength(3);
  }
});
