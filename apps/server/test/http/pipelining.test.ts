import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readMemoryInUse } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { connectionsOf, forgedKey, request, startCountingApp } from './support/counting-app.ts';
import { batchOf, LIST_BEGIN, LIST_END, listingOf } from './support/listing-of.ts';
import { placeOrder } from './support/orders.ts';
import { openRaw, sendRaw } from './support/raw-http.ts';
import { startTestApp } from './support/test-app.ts';

const SOON = { timeout: 20_000 };

/** Reads until this many responses have begun. */
async function countResponses(client: Socket, atLeast: number): Promise<number> {
  const BEGIN = 'HTTP/1.1 ';
  let responses = 0;
  // A status line may arrive in two pieces.
  let rest = '';
  // A socket without an encoding emits buffers.
  for await (const piece of client as AsyncIterable<Buffer>) {
    const read = rest + piece.toString('latin1');
    responses += read.split(BEGIN).length - 1;
    rest = read.slice(1 - BEGIN.length);
    if (responses >= atLeast) break;
  }
  return responses;
}

describe('pipelined requests', () => {
  test('get their responses in order, and each counts', async () => {
    await using app = await startTestApp();
    const { id } = await placeOrder(app.persistence);
    const text = [
      request('/v1/store/orders', app.key),
      request(`/v1/store/orders/${id}`, app.key, 'DELETE'),
      request(`/v1/store/orders/${id}`, app.key, 'DELETE'),
      request('/v1/nothing', app.key),
    ].join('');
    const responses = await sendRaw(text, { port: app.port, count: 4, methods: ['GET', 'DELETE', 'DELETE', 'GET'] });
    expect(responses.map(({ status }) => status)).toEqual([200, 204, 409, 404]);
    const remaining = responses.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(remaining).toEqual([0, 1, 2, 3].map((i) => (remaining[0] ?? 0) - i));
  });

  test('wait in the socket while one is in progress, whatever their number, and use next to no memory', async () => {
    const { app: counting, lookUps, hold } = await startCountingApp();
    await using app = counting;
    const sockets: Socket[] = [];
    app.app.server.on('connection', (socket: Socket) => sockets.push(socket));
    const letGo = hold();
    const count = 5_000;
    const text = Array.from({ length: count }, () => request('/v1/a', forgedKey())).join('');
    const before = await readMemoryInUse();
    const client = connect(app.port, '127.0.0.1');
    client.write(text);
    await expect.poll(lookUps, SOON).toBe(1);
    // The server has stopped reading after less than two reads of 64 kB.
    await expect.poll(() => sockets[0]?.bytesRead, SOON).toBeGreaterThan(60_000);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(sockets[0]?.bytesRead).toBeLessThan(131_072);
    expect((await readMemoryInUse()) - before).toBeLessThan(20_000_000);
    letGo();
    expect(await countResponses(client, count)).toBe(count);
  });

  test('wait in the socket behind a long list, too', async () => {
    const bytesRead: number[] = [];
    const sockets: Socket[] = [];
    async function* longList() {
      yield LIST_BEGIN;
      for (let i = 0; i < 200; i++) {
        yield batchOf(65_536);
        bytesRead.push(sockets[0]?.bytesRead ?? 0);
      }
      yield LIST_END;
    }
    await using app = await startTestApp(listingOf(longList));
    app.app.server.on('connection', (socket: Socket) => sockets.push(socket));
    const behind = Array.from({ length: 3_000 }, () => request('/v1/a', app.key)).join('');
    const client = connect(app.port, '127.0.0.1');
    client.write(request('/v1/store/orders', app.key) + behind);
    expect(await countResponses(client, 3_001)).toBe(3_001);
    expect(Math.max(...bytesRead)).toBeLessThan(131_072);
  });

  test('of which one is incomplete do not time out while the server does not read', async () => {
    const { app: counting, lookUps, hold } = await startCountingApp({ bounds: { headersTimeoutMs: 300 } });
    await using app = counting;
    const letGo = hold();
    using connection = await openRaw({ port: app.port });
    const text = request('/v1/a', forgedKey());
    const isLate = once(app.app.server, 'clientError');
    connection.write(text + text + text.slice(0, 20));
    await expect.poll(lookUps, SOON).toBe(1);
    await isLate;
    connection.write(text.slice(20));
    letGo();
    for (let i = 0; i < 3; i++) expect((await connection.read()).status).toBe(401);
  });

  test.each([
    ['NONSENSE\r\n\r\n', 400],
    ['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
  ])('get their responses before input that is not HTTP does: %j', async (last, status) => {
    await using app = await startTestApp();
    const list = request('/v1/store/orders', app.key);
    const one = await sendRaw(list + last, { port: app.port, count: 2 });
    expect(one.map((response) => response.status)).toEqual([200, status]);
    const two = await sendRaw(list + request('/v1/nothing', app.key) + last, { port: app.port, count: 3 });
    expect(two.map((response) => response.status)).toEqual([200, 404, status]);
  });

  test('of a client that disconnects are dropped', async () => {
    const { app: counting, lookUps, hold } = await startCountingApp({ bounds: { maxWaitingPerAddress: 100 } });
    await using app = counting;
    const letGo = hold();
    const text = Array.from({ length: 90 }, () => request('/v1/a', forgedKey())).join('');
    const client = connect(app.port, '127.0.0.1');
    client.write(text);
    await expect.poll(lookUps, SOON).toBe(1);
    client.destroy();
    letGo();
    // The server does not read meanwhile, so it notices the disconnect with the first response.
    await expect.poll(() => connectionsOf(app), SOON).toBe(0);
    expect(app.observed.length).toBeLessThan(90);
    expect(await sendRaw(text, { port: app.port, count: 90 })).toHaveLength(90);
  });

  test('behind a list whose client disconnects are not begun', async () => {
    let begun = 0;
    async function* longList() {
      begun++;
      yield LIST_BEGIN;
      for (let i = 0; i < 500; i++) yield batchOf(65_536);
      yield LIST_END;
    }
    await using app = await startTestApp(listingOf(longList));
    const client = connect(app.port, '127.0.0.1');
    client.write(request('/v1/store/orders', app.key).repeat(3));
    await once(client, 'data');
    client.destroy();
    await expect.poll(() => connectionsOf(app), SOON).toBe(0);
    expect(begun).toBe(1);
  });

  test('of one address are bounded: a client that sends more is cut off, and no other', async () => {
    const { app: counting, lookUps, hold } = await startCountingApp({ bounds: { maxWaitingPerAddress: 100 } });
    await using app = counting;
    const letGo = hold();
    using other = await openRaw({ port: app.port, localAddress: '127.0.0.17' });
    other.write(request('/v1/a', forgedKey()) + request('/v1/b', forgedKey()));
    await expect.poll(lookUps, SOON).toBe(1);
    const client = connect({ port: app.port, host: '127.0.0.1', localAddress: '127.0.0.16' });
    client.on('error', () => {});
    client.write(Array.from({ length: 200 }, () => request('/v1/a', forgedKey())).join(''));
    await once(client, 'close');
    letGo();
    expect((await other.read()).status).toBe(401);
    expect((await other.read()).status).toBe(401);
  });
});
