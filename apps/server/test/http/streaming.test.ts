import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderTextBatch } from '@petstore/domain';
import { PATIENTLY, readMemoryInUse } from '@petstore/testing';
import superjson, { type SuperJSONResult } from 'superjson';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey, pendingOrder, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { openRaw, sendOne } from './support/raw-http.ts';
import { batchOf, LIST_BEGIN, LIST_END, listingOf, ORDER_BATCH, ORDER_JSON } from './support/replaced-parts.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const listRequest = (key: string) => `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** As a link of tRPC that streams asks for a list. */
const streamRequest = (key: string) =>
  `GET /trpc/orders.list?batch=1&input=%7B%7D HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
  'trpc-accept: application/jsonl\r\n\r\n';

/** Of a list of 120,000 orders, which takes some 30 MB as objects; a few megabytes come and go with the garbage. */
const LITTLE_BYTES = 12_000_000;

/**
 * Reads a chunked response to its last chunk.
 *
 * @param onProgress called whenever another two megabytes have come
 * @returns the number of bytes
 */
async function receiveChunked(socket: Socket, onProgress = async () => {}): Promise<number> {
  let received = 0;
  let lastBytes = Buffer.alloc(0);
  // A socket without an encoding emits buffers.
  for await (const piece of socket as AsyncIterable<Buffer>) {
    const stepsBefore = Math.floor(received / 2_000_000);
    received += piece.byteLength;
    if (Math.floor(received / 2_000_000) > stepsBefore) await onProgress();
    // The end may arrive in two pieces.
    lastBytes = Buffer.concat([lastBytes, piece.subarray(-5)]).subarray(-5);
    if (lastBytes.toString() === '0\r\n\r\n') break;
  }
  return received;
}

const bytesWritten = (sockets: readonly Socket[]) => sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0);

/** Waits until a number has grown, and then stays as it is. */
async function waitUntilSteady(read: () => number): Promise<void> {
  for (let last = 0; read() === 0 || read() !== last; await sleep(300)) last = read();
}

describe('a long list', () => {
  const COUNT = 120_000;
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ orders: COUNT });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('holds every order once, ascending by id, as one JSON array', async () => {
    const response = await app.fetch('/v1/store/orders');
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
    expect(response.headers.get('content-type')).toBe('application/json');
    const orders = await response.json();
    if (!Array.isArray(orders)) expect.fail('the list must be an array');
    expect(orders).toHaveLength(COUNT);
    expect(orders.every(({ id }, i) => i === 0 || id > orders[i - 1].id)).toBe(true);
  });

  test('is never in memory as a whole', async () => {
    const before = await readMemoryInUse();
    const socket = connect(app.port, '127.0.0.1');
    socket.write(listRequest(app.key));
    let peak = 0;
    const received = await receiveChunked(socket, async () => {
      peak = Math.max(peak, await readMemoryInUse());
    });
    expect(received).toBeGreaterThan(9_000_000);
    expect(peak - before).toBeLessThan(8_000_000);
  });

  test.each([
    ['REST', listRequest],
    ['tRPC', streamRequest],
  ])(
    'over %s waits for a client that does not read, buffers little for it, and serves others',
    async (_, requestOf) => {
      const before = await readMemoryInUse();
      const accepted: Socket[] = [];
      app.app.server.on('connection', (socket: Socket) => accepted.push(socket));
      const sockets = Array.from({ length: 5 }, () => connect(app.port, '127.0.0.1').pause());
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      for (const socket of sockets) socket.write(requestOf(app.key));
      await waitUntilSteady(() => bytesWritten(accepted));
      expect((await readMemoryInUse()) - before).toBeLessThan(LITTLE_BYTES);
      // The other readers never read, so a request that waited for them would never end.
      expect((await app.fetch('/v1/pets/1')).status).toBe(404);
      for (const socket of sockets) socket.destroy();
    },
  );
});

describe.concurrent('a listing', () => {
  test('that is short is sent in one piece, with its length', async () => {
    await using app = await startTestApp();
    using connection = await openRaw({ port: app.port });
    const pieces: string[] = [];
    connection.socket.on('data', (text: string) => pieces.push(text));
    connection.write(listRequest(app.key));
    const response = await connection.read();
    expect(response).toMatchObject({ status: 200, body: '[]', headers: { 'content-length': '2' } });
    expect(pieces).toHaveLength(1);
  });

  test('ends when its client disconnects', async ({ expect }) => {
    let hasEnded = false;
    async function* endless() {
      try {
        for (;;) yield batchOf(100_000);
      } finally {
        hasEnded = true;
      }
    }
    await using app = await startTestApp(listingOf(endless));
    const socket = connect(app.port, '127.0.0.1').pause();
    socket.write(listRequest(app.key));
    await once(socket, 'readable');
    await sleep(100); // until the buffers are full
    expect(hasEnded).toBe(false);
    socket.destroy();
    await expect.poll(() => hasEnded, PATIENTLY).toBe(true);
    await expect.poll(() => app.observed.at(-1), PATIENTLY).toMatchObject({ operation: 'listOrders', status: 200 });
    expect(app.logLines.filter(({ level }) => level > 30)).toEqual([]);
  });

  test('that fails midway is cut off, never ended as if it were complete', async () => {
    async function* failing() {
      yield ORDER_BATCH;
      await sleep(20);
      throw new Error('the disk is gone');
    }
    await using app = await startTestApp(listingOf(failing));
    await expect(app.fetch('/v1/store/orders').then((response) => response.text())).rejects.toThrow();
    using connection = await openRaw({ port: app.port });
    connection.write(listRequest(app.key));
    const received = await connection.readToEnd();
    expect(received).toContain(`[${ORDER_JSON}`);
    expect(received).not.toContain('0\r\n\r\n');
    expect(app.logLines.filter(({ level }) => level >= 50)).toMatchObject([
      { operation: 'listOrders', err: { message: 'the disk is gone' } },
      { operation: 'listOrders', err: { message: 'the disk is gone' } },
    ]);
  });

  test('that fails before its first chunk is an error like any other', async () => {
    // biome-ignore lint/correctness/useYield: it fails before it would
    async function* failing(): AsyncGenerator<OrderTextBatch> {
      throw new Error('the disk is gone');
    }
    await using app = await startTestApp(listingOf(failing));
    await expectError(await app.fetch('/v1/store/orders'), 'internal_error');
  });

  test('begins to arrive before all of it has been read', async () => {
    const gate = Promise.withResolvers<void>();
    async function* held() {
      yield ORDER_BATCH;
      await gate.promise;
      yield LIST_END;
    }
    await using app = await startTestApp(listingOf(held));
    using connection = await openRaw({ port: app.port });
    connection.write(listRequest(app.key));
    const [begun] = await once(connection.socket, 'data');
    expect(begun).toContain(`[${ORDER_JSON}`);
    gate.resolve();
    expect(await connection.read()).toMatchObject({ status: 200, body: `[${ORDER_JSON}]` });
  });

  test('is sent to HTTP/1.0 unchunked, up to the end of the connection', async () => {
    async function* two() {
      yield LIST_BEGIN;
      await sleep(20);
      yield LIST_END;
    }
    await using app = await startTestApp(listingOf(two));
    using connection = await openRaw({ port: app.port });
    connection.write(listRequest(app.key).replace('HTTP/1.1', 'HTTP/1.0'));
    const received = await connection.readToEnd();
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received).toMatch(/\r\n\r\n\[\]$/);
  });
});

describe.concurrent('over tRPC', () => {
  test('a list is streamed, with rate limit headers', async () => {
    await using app = await startTestApp();
    await app.persistence.orders.generateOrders({ count: 1_000, seed: 1, now: new Date() });
    const { text: key } = await createKey(app.persistence, { plan: planOf(5) });
    const response = await sendOne(streamRequest(key), { port: app.port });
    expect(response).toMatchObject({
      status: 200,
      headers: { 'transfer-encoding': 'chunked', 'x-ratelimit-remaining': '4', 'content-type': 'application/json' },
    });
    expect(response.body.match(/"quantity"/g)).toHaveLength(1_000);
  });

  test('a list ends when its client disconnects', async ({ expect }) => {
    let hasEnded = false;
    async function* endless() {
      try {
        for (;;) {
          await sleep(1);
          yield { orders: [pendingOrder(1n)], isLast: false };
        }
      } finally {
        hasEnded = true;
      }
    }
    await using app = await startTestApp(listingOf((texts) => texts, endless));
    const socket = connect(app.port, '127.0.0.1');
    socket.write(streamRequest(app.key));
    await once(socket, 'data');
    socket.destroy();
    await expect.poll(() => hasEnded, PATIENTLY).toBe(true);
    await expect.poll(() => app.observed.at(-1), PATIENTLY).toMatchObject({ operation: 'batch', status: 200 });
    expect(app.logLines.filter(({ level }) => level > 30)).toEqual([]);
  });

  test.each([250, 2_000])('a list of %i orders is one array for a link that does not stream', async (count) => {
    await using app = await startTestApp();
    await app.persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
    const response = await app.fetch('/trpc/orders.list');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).not.toBeNull();
    const { result } = (await response.json()) as { result: { data: SuperJSONResult } }; // as tRPC has it
    const stored = [];
    for await (const { orders } of app.persistence.orders.listOrders()) stored.push(...orders);
    expect(superjson.deserialize(result.data)).toEqual(stored);
  });

  test('the error of a longer list for a link that does not stream names one that does', async () => {
    await using app = await startTestApp();
    await app.persistence.orders.generateOrders({ count: 2_001, seed: 1, now: new Date() });
    for (const path of ['/trpc/orders.list', '/trpc/orders.list?batch=1']) {
      const response = await app.fetch(path);
      expect(response.status).toBe(400);
      const text = await response.text();
      expect(text).toContain('"invalid_request"');
      expect(text).toContain('httpBatchStreamLink');
      expect(text).toContain('v2.orders.list');
    }
  });

  test('lists of a batch for such a link hold as many orders together as one, and no more are made', async () => {
    await using app = await startTestApp();
    await app.persistence.orders.generateOrders({ count: 900, seed: 1, now: new Date() });
    const response = await app.fetch(`/trpc/${Array(20).fill('orders.list').join()}?batch=1`);
    expect(response.status).toBe(207);
    const calls = (await response.json()) as { readonly error?: { readonly json: { readonly data: unknown } } }[]; // as tRPC has it
    expect(calls.slice(0, 2).map(({ error }) => error)).toEqual([undefined, undefined]);
    for (const { error } of calls.slice(2)) expect(error?.json.data).toMatchObject({ errorCode: 'invalid_request' });
  });
});
