import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { batchOf, LIST_BEGIN, LIST_END, listingOf, ORDER_BATCH, ORDER_JSON } from './support/listing-of.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const SOON = { timeout: 20_000 };
/** Far more than all buffers hold. */
const LIST_BYTES = 30_000_000;

async function* longList() {
  yield LIST_BEGIN;
  for (let sent = 0; sent < LIST_BYTES; sent += 300_000) yield batchOf(300_000);
  yield LIST_END;
}

const LIST = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ';

function openReader(app: TestApp): Socket {
  const socket = connect(app.port, '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.write(`${LIST}${app.key}\r\n\r\n`);
  return socket;
}

const cuts = ({ logLines }: TestApp) => logLines.filter(({ msg }) => msg.includes('reader was too slow'));

test.concurrent('a list is cut off whose client reads nothing, and then no longer counts', async ({ expect }) => {
  await using app = await startTestApp({ ...listingOf(longList), bounds: { idleReaderMs: 1_000, maxStreams: 1 } });
  const reader = openReader(app);
  await expect.poll(() => cuts(app), SOON).toHaveLength(1);
  expect(cuts(app)[0]).toMatchObject({ operation: 'listOrders', keyId: expect.any(String) });
  // A client can see that the response is incomplete: the last chunk is missing.
  let received = 0;
  let lastBytes = '';
  for await (const piece of reader as AsyncIterable<Buffer>) {
    received += piece.byteLength;
    lastBytes = (lastBytes + piece.toString('latin1')).slice(-5);
  }
  expect(received).toBeLessThan(LIST_BYTES);
  expect(lastBytes).not.toBe('0\r\n\r\n');
  expect((await (await app.fetch('/v1/store/orders')).text()).length).toBe(LIST_BYTES + 2);
});

test.concurrent('a list is cut off whose client reads next to nothing', async () => {
  await using app = await startTestApp({
    ...listingOf(longList),
    bounds: { idleReaderMs: 60_000, slowReaderMs: 1_000 },
  });
  const reader = openReader(app);
  let isCut = false;
  while (!isCut) {
    reader.read(4_096);
    await sleep(100);
    isCut = cuts(app).length > 0;
  }
  reader.destroy();
});

test.concurrent('a list is sent in full to a client that reads slowly', async () => {
  const bounds = { idleReaderMs: 2_000, slowReaderMs: 2_000 };
  await using app = await startTestApp({ ...listingOf(longList), bounds });
  const response = await app.fetch('/v1/store/orders');
  let received = 0;
  // In sum the pauses are longer than 64 kB may take.
  for await (const piece of response.body ?? []) {
    const before = Math.floor(received / 3_000_000);
    received += piece.byteLength;
    if (Math.floor(received / 3_000_000) > before) await sleep(400);
  }
  expect(received).toBe(LIST_BYTES + 2);
  expect(cuts(app)).toEqual([]);
});

test.concurrent('a list is not cut off whose client reads more than it must, however large the buffers', async () => {
  // 200 kB/s: it takes seven seconds to free a third of a send buffer of 4 MB, which is when Node is notified.
  const bounds = { idleReaderMs: 2_000, slowReaderMs: 2_000 };
  await using app = await startTestApp({ ...listingOf(longList), bounds });
  const reader = openReader(app);
  for (const endMs = performance.now() + 6_000; performance.now() < endMs; await sleep(50)) reader.read(10_000);
  expect(cuts(app)).toEqual([]);
  reader.destroy();
});

test.concurrent('a list whose database is slow is not cut off', async () => {
  async function* slowList() {
    for (let i = 0; i < 3; i++) {
      await sleep(300);
      yield ORDER_BATCH;
    }
    yield LIST_END;
  }
  await using app = await startTestApp({ ...listingOf(slowList), bounds: { idleReaderMs: 200, slowReaderMs: 200 } });
  expect(await (await app.fetch('/v1/store/orders')).text()).toBe(`[${Array(3).fill(ORDER_JSON)}]`);
});
