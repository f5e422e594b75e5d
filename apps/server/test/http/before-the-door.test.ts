import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ApiKeyStore, generateApiKeyId, generateApiKeyText } from '@petstore/domain';
import { readMemoryInUse } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { expectError } from './support/expect-error.ts';
import { listingOf } from './support/listing-of.ts';
import { placeOrder } from './support/orders.ts';
import { openRaw, sendRaw } from './support/raw-http.ts';
import { createKey, startTestApp, type TestApp } from './support/test-app.ts';

const SOON = { timeout: 20_000 };

/** A key of the right form that nobody made: its checksum is public, and right. */
const forgedKey = () => generateApiKeyText('live', generateApiKeyId(randomBytes), randomBytes);

const request = (path: string, key?: string, method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${key === undefined ? '' : `Authorization: Bearer ${key}\r\n`}\r\n`;

/** An app whose key store is counted, and may be held up. */
async function startCountingApp(options: Parameters<typeof startTestApp>[0] = {}) {
  let lookUps = 0;
  let gate = Promise.resolve();
  const app = await startTestApp({
    ...options,
    wrap: {
      ...options.wrap,
      apiKeys: (apiKeys: ApiKeyStore): ApiKeyStore => ({
        async findSecret(hash) {
          lookUps++;
          await gate;
          return apiKeys.findSecret(hash);
        },
        markKeyUsed: (id, at) => apiKeys.markKeyUsed(id, at),
      }),
    },
  });
  return {
    app,
    lookUps: () => lookUps,
    /** Lets the key store answer nothing until the function that it gives is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

/** Sends requests one after the other on one connection, from an address of its own, and gives their statuses. */
async function askFrom(localAddress: string, { port }: TestApp, keys: readonly (string | undefined)[]) {
  using connection = await openRaw({ port, localAddress });
  const answers = [];
  for (const key of keys) {
    connection.write(request('/v1/pets/1', key));
    answers.push(await connection.read());
  }
  return answers;
}

/** Reads until so many answers have begun. */
async function countAnswers(client: Socket, atLeast: number): Promise<number> {
  const BEGIN = 'HTTP/1.1 ';
  let answers = 0;
  // Too short for a whole one, which may come in two pieces.
  let rest = '';
  // A socket without an encoding gives buffers.
  for await (const piece of client as AsyncIterable<Buffer>) {
    const read = rest + piece.toString('latin1');
    answers += read.split(BEGIN).length - 1;
    rest = read.slice(1 - BEGIN.length);
    if (answers >= atLeast) break;
  }
  return answers;
}

describe('an address over its limit', () => {
  test('causes five look-ups a second and no more, whatever keys it makes up', async () => {
    const { app: counting, lookUps } = await startCountingApp();
    await using app = counting;
    const address = '127.0.0.11';
    const begin = performance.now();
    const answers = await askFrom(address, app, Array.from({ length: 500 }, forgedKey));
    const seconds = (performance.now() - begin) / 1_000;
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(440);
    expect(lookUps()).toBeLessThanOrEqual(60 + 5 * Math.ceil(seconds + 1));
    for (const answer of answers.slice(-5)) {
      expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
  });

  test('lets in a key that the process knows, and within a moment one that it does not', async () => {
    const { app: counting } = await startCountingApp();
    await using app = counting;
    const address = '127.0.0.12';
    const { text: unknown } = await createKey(app.persistence);
    expect((await app.fetch('/v1/pets/1')).status).toBe(404);
    const refused = await askFrom(
      address,
      app,
      Array.from({ length: 70 }, () => undefined),
    );
    expect(refused.at(-1)?.status).toBe(429);
    const [known, other] = await askFrom(address, app, [app.key, unknown]);
    expect(known?.status).toBe(404);
    expect(other?.status).toBe(404);
  });

  test('is told the same by a malformed URL, which costs no look-up either', async () => {
    const { app: counting, lookUps } = await startCountingApp();
    await using app = counting;
    const localAddress = '127.0.0.13';
    await askFrom(
      localAddress,
      app,
      Array.from({ length: 61 }, () => undefined),
    );
    const text = Array.from({ length: 50 }, () => request('/v1/pets/%zz', forgedKey())).join('');
    const answers = await sendRaw(text, { port: app.port, localAddress, count: 50 });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
    expect(lookUps()).toBeLessThanOrEqual(25);
  });
});

test('while PostgreSQL is known to be away nobody unknown is looked up', async () => {
  const { app: counting, lookUps } = await startCountingApp({ isStorageAvailable: () => false });
  await using app = counting;
  for (let i = 0; i < 5; i++) {
    const answer = await expectError(await app.fetch('/v1/pets/1', { key: forgedKey() }), 'service_unavailable');
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '60' });
  }
  expect(lookUps()).toBe(0);
});

test('64 requests of an address may wait for a look-up, and further ones are refused', async () => {
  const { app: counting, lookUps, hold } = await startCountingApp();
  await using app = counting;
  expect((await app.fetch('/v1/pets/1')).status).toBe(404);
  const letGo = hold();
  const from = async (localAddress: string, key: string) => {
    using connection = await openRaw({ port: app.port, localAddress });
    connection.write(request('/v1/pets/1', key));
    return await connection.read();
  };
  const waiting = Array.from({ length: 64 }, () => from('127.0.0.14', forgedKey()));
  await expect.poll(lookUps, SOON).toBe(65);
  for (let i = 0; i < 3; i++) {
    const refused = await from('127.0.0.14', forgedKey());
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1', 'x-ratelimit-limit': '60' } });
  }
  // A key that is known, and another address, are let in.
  expect((await from('127.0.0.14', app.key)).status).toBe(404);
  const other = from('127.0.0.15', forgedKey());
  await expect.poll(lookUps, SOON).toBe(66);
  letGo();
  expect((await Promise.all([...waiting, other])).filter(({ status }) => status === 401).length).toBeGreaterThan(60);
});

describe('pipelined requests', () => {
  test('are answered in their order, and each counts', async () => {
    await using app = await startTestApp();
    const { id } = await placeOrder(app.persistence);
    const text = [
      request('/v1/store/orders', app.key),
      request(`/v1/store/orders/${id}`, app.key, 'DELETE'),
      request(`/v1/store/orders/${id}`, app.key, 'DELETE'),
      request('/v1/nothing', app.key),
    ].join('');
    const answers = await sendRaw(text, { port: app.port, count: 4, methods: ['GET', 'DELETE', 'DELETE', 'GET'] });
    expect(answers.map(({ status }) => status)).toEqual([200, 204, 409, 404]);
    const remaining = answers.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(remaining).toEqual([0, 1, 2, 3].map((i) => (remaining[0] ?? 0) - i));
  });

  test('wait in the socket while one is at work, whatever their number, and cost next to nothing', async () => {
    const { app: counting, lookUps, hold } = await startCountingApp();
    await using app = counting;
    const sockets: Socket[] = [];
    app.app.server.on('connection', (socket: Socket) => sockets.push(socket));
    const letGo = hold();
    const count = 20_000;
    const text = Array.from({ length: count }, () => request('/v1/a', forgedKey())).join('');
    const before = await readMemoryInUse();
    const client = connect(app.port, '127.0.0.1');
    client.write(text);
    await expect.poll(lookUps, SOON).toBe(1);
    // Nothing more is read: what was is less than two reads of 64 kB.
    await expect.poll(() => sockets[0]?.bytesRead, SOON).toBeGreaterThan(60_000);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(sockets[0]?.bytesRead).toBeLessThan(131_072);
    expect((await readMemoryInUse()) - before).toBeLessThan(20_000_000);
    letGo();
    expect(await countAnswers(client, count)).toBe(count);
  });

  test('wait in the socket behind a long list, too, whose every piece is taken while more are there', async () => {
    const bytesRead: number[] = [];
    const sockets: Socket[] = [];
    async function* longList() {
      yield Buffer.from('[');
      for (let i = 0; i < 200; i++) {
        yield Buffer.alloc(65_536, ' ');
        bytesRead.push(sockets[0]?.bytesRead ?? 0);
      }
      yield Buffer.from(']');
    }
    await using app = await startTestApp(listingOf(longList));
    app.app.server.on('connection', (socket: Socket) => sockets.push(socket));
    const behind = Array.from({ length: 6_000 }, () => request('/v1/a', app.key)).join('');
    const client = connect(app.port, '127.0.0.1');
    client.write(request('/v1/store/orders', app.key) + behind);
    expect(await countAnswers(client, 6_001)).toBe(6_001);
    expect(Math.max(...bytesRead)).toBeLessThan(131_072);
  });

  test('of which one has come in part only are not too late while nothing is read', async () => {
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
  ])('before what never becomes a request are answered first: %j', async (last, status) => {
    await using app = await startTestApp();
    const list = request('/v1/store/orders', app.key);
    const one = await sendRaw(list + last, { port: app.port, count: 2 });
    expect(one.map((answer) => answer.status)).toEqual([200, status]);
    const two = await sendRaw(list + request('/v1/nothing', app.key) + last, { port: app.port, count: 3 });
    expect(two.map((answer) => answer.status)).toEqual([200, 404, status]);
  });

  test('of a client that is gone are forgotten', async () => {
    const { app: counting, lookUps, hold } = await startCountingApp({ bounds: { maxWaitingPerAddress: 100 } });
    await using app = counting;
    const letGo = hold();
    const text = Array.from({ length: 90 }, () => request('/v1/a', forgedKey())).join('');
    const client = connect(app.port, '127.0.0.1');
    client.write(text);
    await expect.poll(lookUps, SOON).toBe(1);
    client.destroy();
    letGo();
    // Nothing is read meanwhile, so that its end is noticed with the first answer.
    await expect.poll(() => connectionsOf(app), SOON).toBe(0);
    expect(app.observed.length).toBeLessThan(90);
    expect(await sendRaw(text, { port: app.port, count: 90 })).toHaveLength(90);
  });

  test('of a client that is gone midway in a list are not begun, and take no place of its key', async () => {
    let begun = 0;
    async function* longList() {
      begun++;
      yield Buffer.from('[');
      for (let i = 0; i < 500; i++) yield Buffer.alloc(65_536, ' ');
      yield Buffer.from(']');
    }
    await using app = await startTestApp(listingOf(longList));
    const client = connect(app.port, '127.0.0.1');
    client.write(request('/v1/store/orders', app.key).repeat(3));
    await once(client, 'data');
    client.destroy();
    await expect.poll(() => connectionsOf(app), SOON).toBe(0);
    expect(begun).toBe(1);
  });

  test('of one address are bounded: whoever sends more is cut off, and nobody else', async () => {
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

const connectionsOf = ({ app }: TestApp) =>
  new Promise<number>((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

describe('connections', () => {
  const open = async (port: number, localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };

  test('of one address are bounded, and another one still connects', async () => {
    await using app = await startTestApp({ bounds: { maxConnectionsPerAddress: 3 } });
    const three = await Promise.all([1, 2, 3].map(() => open(app.port, '127.0.0.21')));
    await expect.poll(() => connectionsOf(app), SOON).toBe(3);
    const refused = await open(app.port, '127.0.0.21');
    await once(refused, 'close');
    const [answer] = await askFrom('127.0.0.22', app, [app.key]);
    expect(answer?.status).toBe(404);
    three[0]?.destroy();
    await expect.poll(() => connectionsOf(app), SOON).toBe(2);
    const [again] = await askFrom('127.0.0.21', app, [app.key]);
    expect(again?.status).toBe(404);
    for (const socket of three) socket.destroy();
  });

  test('of a proxy that is trusted are bounded with all others only', async () => {
    await using app = await startTestApp({
      bounds: { maxConnectionsPerAddress: 1, maxConnections: 4 },
      trustedProxies: ['127.0.0.23'],
    });
    const four = await Promise.all([1, 2, 3, 4].map(() => open(app.port, '127.0.0.23')));
    await expect.poll(() => connectionsOf(app), SOON).toBe(4);
    const refused = await open(app.port, '127.0.0.23');
    await once(refused, 'close');
    // One of several processes would else hand it on to the others, for ever where all are full.
    expect(app.app.server.dropMaxConnection).toBe(true);
    for (const socket of four) socket.destroy();
  });
});
