import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { createTestDatabase, type PrivateServer, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../../src/index.ts';
import { NOW, newOrder } from '../support.ts';
import { WAYS, type Way } from '../ways.ts';

const ways = Object.entries<Way>(WAYS);

describe.concurrent('a PostgreSQL that accepts connections and says nothing', () => {
  test.each(ways)('is given up after two seconds: %s', async (_, way) => {
    await using silent = await startSilentServer();
    await using persistence = openPersistence({ databaseUrl: `postgres://petstore@127.0.0.1:${silent.port}/petstore` });
    const begin = performance.now();
    await expect(way(persistence)).rejects.toThrow(StorageUnavailableError);
    expect(performance.now() - begin).toBeLessThan(5_500); // a statement is given up after two
  });
});

test('a PostgreSQL that says nothing more while connections are opened is used again when it does', async () => {
  await using network = await openOverProxy({ connections: 2 });
  const { persistence, proxy } = network;
  await persistence.ping();
  const find = () => persistence.orders.findOrder(orderId(1n)).then(() => 'not found', String);
  proxy.silenceAt('set TimeZone');
  expect(await Promise.all(Array.from({ length: 4 }, find))).not.toContain('not found');
  proxy.silenceAt(undefined);
  await expect.poll(find, { timeout: 5_000, interval: 20 }).toBe('not found');
});

test('a PostgreSQL that is far away can be used, and connections are opened to it in time', async () => {
  await using network = await openOverProxy();
  const { persistence, proxy } = network;
  proxy.delay(85); // as to the other side of the world, with some fifteen round trips before the first call
  await persistence.ping();
  proxy.delay(240); // more than ten times this is more than any caller waits
  expect(await persistence.orders.findOrder(orderId(1n))).toBeUndefined();
});

describe('a PostgreSQL is not taken for hung because this process stood still', () => {
  const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  test('again and again, while everything was opened', async () => {
    await using network = await openOverProxy();
    const { persistence, proxy } = network;
    proxy.delay(40); // some seventeen round trips before the first call
    const first = persistence.orders.findOrder(orderId(1n));
    for (let i = 0; i < 4; i++) {
      await sleep(100);
      standStill(1_300);
    }
    expect(await first).toBeUndefined();
  });

  test('once for long, while a connection was opened', async () => {
    await using network = await openOverProxy();
    const { persistence, proxy } = network;
    await persistence.ping();
    proxy.delay(60); // four or five round trips
    const first = persistence.orders.findOrder(orderId(1n));
    await sleep(30);
    standStill(2_500);
    expect(await first).toBeUndefined();
  });
});

test('what was given up while a connection was opened for it is not sent any more', async () => {
  await using network = await openOverProxy();
  const { persistence, proxy, direct } = network;
  await persistence.ping();
  proxy.delay(600); // opening a connection takes 3 s then
  await expect(persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).rejects.toThrow(StorageUnavailableError);
  await expect.poll(() => persistence.load().statementsInFlight.writes, { timeout: 20_000 }).toBe(0);
  expect(await direct.orders.countOrders()).toBe(0);
});

describe('a PostgreSQL that hangs', () => {
  let server: PrivateServer;
  let persistence: Persistence;

  beforeAll(async () => {
    server = await startPostgresServer();
    persistence = openPersistence({ databaseUrl: server.url });
    await persistence.migrations.migrate();
  });
  afterAll(async () => {
    await persistence.close();
    await server[Symbol.asyncDispose]();
  });

  /** Opens every connection, so that each of them is lost. */
  const useAllConnections = () =>
    Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        i % 2 === 0
          ? persistence.orders.findOrder(orderId(-1n))
          : persistence.orders.applyCommand(orderId(-1n), 'cancel', NOW, SERVICE_ORIGIN),
      ),
    );

  test('keeps no caller waiting for ever', async () => {
    await expect
      .poll(() => useAllConnections().then(() => countSessions(server)), { timeout: 20_000 })
      .toBeGreaterThanOrEqual(10);
    const frozen = await freezeSessions(server);
    const begin = performance.now();
    await Promise.all(
      ways
        .filter(([name]) => !/import|generate|migrate$/.test(name))
        .map(([, way]) => expect(way(persistence)).rejects.toThrow(StorageUnavailableError)),
    );
    expect(performance.now() - begin).toBeLessThan(30_000);
    frozen.resume();
    await expect.poll(() => persistence.ping().then(() => 'answers', String), { timeout: 20_000 }).toBe('answers');
    await useAllConnections();
  });

  test('in one session has that connection replaced after half a minute, and is not taken for hung', async () => {
    await using narrow = openPersistence({ databaseUrl: server.url, connections: 1 });
    const find = () => narrow.orders.findOrder(orderId(1n)).then(() => 'no such order', String);
    const reading = `query like '%from orders%'`;
    const others = await listSessions(server, reading);
    expect(await find()).toBe('no such order');
    const frozen = (await listSessions(server, reading)).find((pid) => !others.includes(pid)) ?? 0;
    expect(frozen).not.toBe(0); // which would be this process, too
    process.kill(frozen, 'SIGSTOP');
    try {
      expect(await find()).toContain('did not respond in time');
      expect((await narrow.ping()).isReadOnly).toBe(false);
      await expect.poll(find, { timeout: 50_000 }).toBe('no such order');
    } finally {
      process.kill(frozen, 'SIGCONT');
    }
  });

  test('does not keep a process that ends waiting', async () => {
    const ending = openPersistence({ databaseUrl: server.url });
    await Promise.all([ending.ping(), ending.keyAdministration.listKeys()]);
    const frozen = await freezeSessions(server);
    const unanswered = expect(ending.ping()).rejects.toThrow(StorageUnavailableError);
    const begin = performance.now();
    await ending.close();
    expect(performance.now() - begin).toBeLessThan(4_500); // likewise
    await unanswered;
    frozen.resume();
  });
});

async function listSessions(server: PrivateServer, condition = 'true'): Promise<readonly number[]> {
  const client = new pg.Client(server.url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and ${condition}`,
  );
  await client.end();
  return rows.map(({ pid }) => pid);
}

const countSessions = async (server: PrivateServer) => (await listSessions(server)).length;

/** Freezes a server and all its sessions, each of which is a process of its own. */
async function freezeSessions(server: PrivateServer) {
  const pids = await listSessions(server);
  server.pause();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  return {
    resume() {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      server.resume();
    },
  };
}

interface SilentServer extends AsyncDisposable {
  readonly port: number;
}

async function startSilentServer(): Promise<SilentServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // what a TCP server that listens has
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface SilencingProxy extends SilentServer {
  /** From now on connections say nothing more once their client has sent this text; `undefined`: new ones go on. */
  silenceAt(text: string | undefined): void;
  /** From now on what the server sends arrives later, by so many milliseconds. */
  delay(ms: number): void;
}

/** Storage that is reached over such a proxy, and the same without it. */
async function openOverProxy(options: { readonly connections?: number } = {}) {
  await using resources = new AsyncDisposableStack();
  const { url } = resources.use(await createTestDatabase());
  const direct = resources.use(openPersistence({ databaseUrl: url }));
  await direct.migrations.migrate();
  const proxy = resources.use(await startSilencingProxy(Number(new URL(url).port)));
  const proxied = Object.assign(new URL(url), { port: String(proxy.port) });
  const persistence = resources.use(openPersistence({ databaseUrl: proxied.href, ...options }));
  const held = resources.move();
  return { direct, proxy, persistence, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Passes bytes on to a server of this machine, until it is told to delay or to swallow them. */
async function startSilencingProxy(targetPort: number): Promise<SilencingProxy> {
  const sockets = new Set<Socket>();
  let trigger: string | undefined;
  let delayMs = 0;
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let isSilent = false;
    client.on('data', (data) => {
      isSilent ||= trigger !== undefined && data.includes(trigger);
      if (!isSilent) target.write(data);
    });
    target.on('data', (data) => setTimeout(() => client.write(data), delayMs));
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // what a TCP server that listens has
  return {
    port,
    silenceAt: (text) => {
      trigger = text;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
