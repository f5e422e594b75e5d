import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { batchOf, LIST_BEGIN, LIST_END, listingOf } from './support/listing-of.ts';
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

test('a list is cut off whose client reads nothing, and then no longer counts', async () => {
  await using app = await startTestApp({
    ...listingOf(longList),
    bounds: { stalledTimeoutMs: 1_000, maxLongLists: 1 },
  });
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
