import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { createBannedKey, startTestApp, type TestApp } from './support/test-app.ts';

// What a request costs in round trips to other processes: counts, because durations depend on the machine.

/** A proxy between the server and PostgreSQL or Redis that counts round trips. */
interface CountingProxy extends AsyncDisposable {
  readonly url: string;
  /** Round trips since the last call: a round trip begins with what is sent after a reply, or first of all. */
  takeRoundTrips(): number;
  /** Resolves when no connection is opening or waits for a reply. */
  rest(): Promise<void>;
}

/** The last message of PostgreSQL's reply to a query or to a start-up. */
const READY_FOR_QUERY = Buffer.from('Z\0\0\0\x05I');
/** Sent by an idle connection that closes, without a reply. */
const TERMINATE = Buffer.from('X\0\0\0\x04');

/** @param target the URL of PostgreSQL or of Redis on this machine */
async function startCountingProxy(target: string): Promise<CountingProxy> {
  const url = new URL(target);
  const isPostgres = url.protocol.startsWith('postgres');
  const targetPort = Number(url.port);
  const sockets = new Set<Socket>();
  /** Connections that wait for a reply. */
  const busy = new Set<Socket>();
  let roundTrips = 0;
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    let hasReply = true;
    let lastBytes = Buffer.alloc(0);
    busy.add(client);
    for (const socket of [client, upstream]) {
      socket.setNoDelay();
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (bytes: Buffer) => {
      if (hasReply && !(isPostgres && bytes.equals(TERMINATE))) roundTrips++;
      hasReply = false;
      busy.add(client);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes: Buffer) => {
      hasReply = true;
      lastBytes = Buffer.concat([lastBytes, bytes.subarray(-READY_FOR_QUERY.length)]).subarray(-READY_FOR_QUERY.length);
      if (!isPostgres || lastBytes.equals(READY_FOR_QUERY)) busy.delete(client);
      client.write(bytes);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.on('close', () => busy.delete(client));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP listener
  return {
    url: url.href,
    takeRoundTrips() {
      const taken = roundTrips;
      roundTrips = 0;
      return taken;
    },
    async rest() {
      while (busy.size > 0) await sleep(1);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

let server: TestApp;
let between: Record<'postgres' | 'redis', CountingProxy>;
let exhausted: string;
let banned: string;
let nextOrder = 1;

beforeAll(async () => {
  const proxies: Partial<typeof between> = {};
  server = await startTestApp({
    monotonicNowMs: () => 0, // no remembered key expires meanwhile
    through: async (name, url) => {
      const proxy = await startCountingProxy(url);
      proxies[name] = proxy;
      return proxy.url;
    },
  });
  between = proxies as typeof between; // the server connects through both
  await server.persistence.orders.generateOrders({ count: 200, seed: 1, now: new Date() });
  exhausted = (await createKey(server.persistence, { plan: planOf(60) })).text;
  banned = await createBannedKey(server);
  // After a few requests connections are open, statements prepared, scripts loaded and keys cached.
  for (let i = 0; i < 20; i++) await Promise.all([cancel(), cancel(), list(), list()]);
  for (let i = 0; i < 61; i++) await server.fetch('/v1/store/orders', { key: exhausted });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const proxy of Object.values(between)) await proxy[Symbol.asyncDispose]();
});

const cancel = () => server.fetch(`/v1/store/orders/${nextOrder++}`, { method: 'DELETE' });
const list = () => server.fetch('/v1/store/orders').then((response) => response.text());

async function expectBanned(): Promise<void> {
  const response = await server.fetch('/v1/store/orders', { key: banned });
  expect(await response.json()).toMatchObject({ code: 'api_key_banned' });
}

async function roundTripsOf(work: () => Promise<unknown>) {
  // Redis replies in order: after the reply to this, nothing sent earlier (such as noting a ban) is pending.
  await list();
  // There are several connections to PostgreSQL, some of which may still be opening.
  for (const proxy of Object.values(between)) await proxy.rest();
  const counts: { readonly redis: number; readonly postgres: number }[] = [];
  // PostgreSQL is pinged now and then, which is no part of the request: not each time of several.
  for (let i = 0; i < 3; i++) {
    for (const proxy of Object.values(between)) proxy.takeRoundTrips();
    await work();
    counts.push({ redis: between.redis.takeRoundTrips(), postgres: between.postgres.takeRoundTrips() });
  }
  return {
    redis: Math.min(...counts.map(({ redis }) => redis)),
    postgres: Math.min(...counts.map(({ postgres }) => postgres)),
  };
}

describe('round trips of a request', () => {
  test('to cancel an order: one to Redis, one to PostgreSQL', async () => {
    expect(await roundTripsOf(cancel)).toEqual({ redis: 1, postgres: 1 });
  });

  test('to cancel an order that cannot be: the same', async () => {
    const again = (id: number) => () => server.fetch(`/v1/store/orders/${id}`, { method: 'DELETE' });
    expect(await roundTripsOf(again(1))).toEqual({ redis: 1, postgres: 1 });
    expect(await roundTripsOf(again(999_999))).toEqual({ redis: 1, postgres: 1 });
  });

  test('to list orders: one to PostgreSQL', async () => {
    expect(await roundTripsOf(list)).toEqual({ redis: 1, postgres: 1 });
  });

  test('that is refused for its limit: one to Redis, none to PostgreSQL', async () => {
    const refused = async () => {
      const response = await server.fetch('/v1/store/orders', { key: exhausted });
      expect(await response.json()).toMatchObject({ code: 'rate_limit_exceeded' });
    };
    expect(await roundTripsOf(refused)).toEqual({ redis: 1, postgres: 0 });
  });

  test('of a banned key: none', async () => {
    await expectBanned(); // which is remembered for five seconds
    expect(await roundTripsOf(expectBanned)).toEqual({ redis: 0, postgres: 0 });
  });

  test('with a key that does not exist: one to Redis, for the address', async () => {
    const unknown = async () => {
      expect((await server.fetch('/v1/store/orders', { key: 'nonsense' })).status).toBe(401);
    };
    expect(await roundTripsOf(unknown)).toEqual({ redis: 1, postgres: 0 });
  });

  test('with invalid input: one to Redis, none to PostgreSQL', async () => {
    const wrong = () => server.fetch('/v1/store/orders/abc', { method: 'DELETE' });
    expect(await roundTripsOf(wrong)).toEqual({ redis: 1, postgres: 0 });
  });

  test('of thirty at once: fewer than thirty', async () => {
    const { redis, postgres } = await roundTripsOf(() => Promise.all(Array.from({ length: 30 }, cancel)));
    expect(redis).toBeLessThan(30);
    expect(postgres).toBeLessThan(30);
  });
});
