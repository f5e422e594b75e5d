import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createKey, forgedKey, importPets } from '../support/database.ts';
import { bearer, createCaller, megabytes, startAttackedServer } from './support/attacked-server.ts';

const SIZES = [
  // About as many requests as Node reads from a connection at once if each is as short as it can be.
  { addresses: 1, connections: 12, requests: 2_180 },
  // More than an address may have in flight: together more than a process has room for.
  { addresses: 100, connections: 100, requests: 70 },
  // A few ahead on each of many connections.
  { addresses: 100, connections: 1_000, requests: 100 },
];
/** How long callers are watched while nobody reads the responses of the attack. */
const WATCHED_MS = 3_000;
const GROWTH_MAX_BYTES = 200_000_000;
/** More than a response waits in the buffers of a connection. */
const ORDERS = 2_000;

/** The head of a request without headers that it does not need. */
const requestOf = (method: string, path: string, key?: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost:a\r\n${key === undefined ? '' : `Authorization:Bearer ${key}\r\n`}\r\n`;

/** The requests of an attacker. @param key one that is valid */
const KINDS: Readonly<Record<string, (key: string) => string>> = {
  pages: () => requestOf('GET', '/docs'),
  documents: () => requestOf('GET', '/v1/openapi.json'),
  'unknown paths': () => requestOf('GET', '/nothing'),
  'unknown paths below a version': () => requestOf('GET', '/v1/nothing'),
  OPTIONS: () => requestOf('OPTIONS', '/v1/store/orders'),
  'OPTIONS of a page': () => requestOf('OPTIONS', '/docs'),
  'forged keys': () => requestOf('GET', '/v1/pets/1', forgedKey()),
  'a valid key': (key) => requestOf('GET', '/v1/store/orders', key),
};

/** Sends on a connection of its own, and reads nothing of what comes back. */
async function sendUnread(port: number, text: string, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.pause();
  socket.on('error', () => {}); // the server may cut it
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

for (const [kind, requestOfKind] of Object.entries(KINDS)) {
  for (const { addresses, connections, requests } of SIZES) {
    test(`${connections} connections from ${addresses} addresses with ${requests} unread ${kind} each`, async () => {
      await using target = await startAttackedServer();
      const { port, persistence, readMemory } = target;
      await persistence.orders.generateOrders({ count: ORDERS, seed: 1, now: new Date() });
      await importPets(persistence, [{ id: 1n, name: 'Rex' }]);
      const { text: key } = await createKey(persistence);
      const { text: abused } = await createKey(persistence);
      const { text: unknown } = await createKey(persistence);
      const call = createCaller(port);
      expect(await call('/v1/pets/1', bearer(abused))).toBe(200);
      expect(await call('/docs')).toBe(200);
      // Until the engine has compiled what runs for each request.
      for (let i = 0; i < 500; i++) expect(await call('/v1/pets/1', bearer(key))).toBe(200);
      const before = await readMemory();
      const text = Array.from({ length: requests }, () => requestOfKind(abused)).join('');
      const sockets = await Promise.all(
        Array.from({ length: connections }, (_, i) => sendUnread(port, text, `127.0.1.${1 + (i % addresses)}`)),
      );
      // A key that the process has never seen is looked up all the same, as soon as fewer than 512 others are.
      await expect.poll(() => call('/v1/pets/1', bearer(unknown)), { timeout: 5_000 }).toBe(200);
      const durationsMs: number[] = [];
      const beginMs = performance.now();
      while (performance.now() - beginMs < WATCHED_MS) {
        for (const [path, status] of [
          ['/v1/store/orders', 200],
          ['/v1/pets/2', 404],
        ] as const) {
          const sentMs = performance.now();
          expect(await call(path, bearer(key))).toBe(status);
          durationsMs.push(performance.now() - sentMs);
        }
        await sleep(20);
      }
      const growth = (await readMemory()) - before;
      console.log(
        `${kind}, ${connections} connections: ${Math.max(...durationsMs).toFixed(0)} ms at most, +${megabytes(growth)} MB`,
      );
      // The moment at which all the requests arrive may take longer on a slow machine.
      const usualMs = durationsMs.toSorted((one, other) => one - other)[Math.floor(durationsMs.length * 0.9)];
      expect(usualMs).toBeLessThan(1_000);
      expect(growth).toBeLessThan(GROWTH_MAX_BYTES);
      for (const socket of sockets) socket.destroy();
      // Everything that they took is free again.
      await expect.poll(() => call('/v1/pets/1', bearer(abused))).toBe(200);
    });
  }
}
