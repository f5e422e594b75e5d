import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { batchOf, LIST_BEGIN, LIST_END, listingOf, ORDER_BATCH, ORDER_JSON } from '../http/support/replaced-parts.ts';
import { startTestApp, type TestApp } from '../http/support/test-app.ts';

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

const cuts = ({ logLines }: TestApp) => logLines.filter(({ msg }) => msg.includes('client read too slowly'));

test('a list is sent in full to a client that reads slowly', async () => {
  await using app = await startTestApp({ ...listingOf(longList), bounds: { slowReaderTimeoutMs: 2_000 } });
  const response = await app.fetch('/v1/store/orders');
  let received = 0;
  // In sum the pauses are longer than a client may take nothing.
  for await (const piece of response.body ?? []) {
    const before = Math.floor(received / 3_000_000);
    received += piece.byteLength;
    if (Math.floor(received / 3_000_000) > before) await sleep(400);
  }
  expect(received).toBe(LIST_BYTES + 2);
  expect(cuts(app)).toEqual([]);
});

test.each([
  [100_000_000, 1],
  [1_000, 0],
])(
  'a reader who takes some 3 MB/s while %i bytes are the least is cut %i times',
  async (readerMinBytesPerSecond, times) => {
    const bounds = { slowReaderTimeoutMs: 2_000, readerMinBytesPerSecond };
    await using app = await startTestApp({ ...listingOf(longList), bounds });
    const reader = openReader(app);
    let received = 0;
    reader.on('data', ({ byteLength }: Buffer) => {
      received += byteLength;
      if (received >= 1_000_000) reader.pause();
    });
    for (let pause = 0; pause < 13; pause++) {
      await sleep(300);
      received = 0;
      reader.resume();
    }
    expect(cuts(app)).toHaveLength(times);
    reader.destroy();
  },
);

test('a list whose database is slow is not cut off', async () => {
  async function* slowList() {
    for (let i = 0; i < 3; i++) {
      await sleep(1_500);
      yield ORDER_BATCH;
    }
    yield LIST_END;
  }
  await using app = await startTestApp({ ...listingOf(slowList), bounds: { slowReaderTimeoutMs: 1_000 } });
  expect(await (await app.fetch('/v1/store/orders')).text()).toBe(`[${Array(3).fill(ORDER_JSON)}]`);
});

test('a process that stood still cuts nobody for that time', async () => {
  await using app = await startTestApp({ ...listingOf(longList), bounds: { slowReaderTimeoutMs: 2_000 } });
  const reader = openReader(app);
  await sleep(500); // until the buffers are full
  // As a suspended machine: nothing runs for longer than a client may take nothing, and then every timer is due.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
  await sleep(300);
  expect(cuts(app)).toEqual([]);
  reader.destroy();
});
