import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient } from '@petstore/client';
import type { OrderRepository } from '@petstore/domain';
import { readMemoryInUse } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { overriding } from '../http/support/replaced-parts.ts';
import { startTestApp, type TestApp } from '../http/support/test-app.ts';

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
      expect(batchesTaken).toBe(1 + Math.ceil((COUNT - 250) / 2_000));
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
});
