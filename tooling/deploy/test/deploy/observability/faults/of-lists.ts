import { connect, type Socket } from 'node:net';
import { openPersistence } from '@petstore/persistence';
import { createKey, prepareServerDatabase, type TestKey } from '@petstore/server/test-support/database';
import { startServer } from '@petstore/server/test-support/spawned-server';
import { PATIENCE_MS, startPostgresServer } from '@petstore/testing';
import { vi } from 'vitest';
import type { FaultRecordings } from '../support/fault-recordings.ts';
import { WatchedServer } from '../support/watched-server.ts';

/** A server notices after two minutes that a reader takes nothing. */
const PATIENTLY = { timeout: 200_000, interval: 200 };
/** Far more than the buffers between a server and a client that does not read. */
const ORDERS = 120_000;
/** The plan Enterprise lets a key read so many lists at once. */
const LISTS_PER_KEY = 16;
/** These keys read 176 and 256 lists; a server sends 200 at once. */
const MANY_KEYS = 11;
const KEYS = 16;
const SLOW_READERS = 8;
/** So long that the few statements which were slow because many lists began just before do not count for much. */
const LONG_MS = 3_000;

/** Injects the faults of long lists. */
export async function recordFaultsOfLists(recordings: FaultRecordings): Promise<void> {
  await using postgres = await startPostgresServer();
  await prepareServerDatabase(postgres.url);
  await using persistence = openPersistence({ databaseUrl: postgres.url, patienceMs: PATIENCE_MS });
  await persistence.orders.generateOrders({ count: ORDERS, seed: 1, now: new Date() });
  const environment = { DATABASE_URL: postgres.url };
  await using started = await startServer(environment);
  const watched = await WatchedServer.of(started.server);
  const surroundings = { watched, environment };
  const healthy = await watched.observe({ hasLists: false });

  const keys = await Promise.all(Array.from({ length: KEYS }, () => createKey(persistence)));
  const port = Number(new URL(watched.url).port);
  // This fault comes first: with as many lists as below, a busy machine may fail to read one in time, which is a cut as well.
  const key = keys[0] as TestKey; // there are 16
  const readers = await Promise.all(Array.from({ length: SLOW_READERS }, () => beginList(port, key)));
  const cuts = 'petstore_http_responses_cut_total{reason="slow_reader"}';
  const areCut = () => vi.waitUntil(async () => (await watched.read(cuts)) === SLOW_READERS, PATIENTLY);
  recordings.add('slow readers', { healthy, faulty: await watched.observe({ hasLists: false, during: areCut }) });
  await recordings.follow('PetstoreListsCut', { ...surroundings, names: { W2XCWm6f: key.id } });
  for (const socket of readers) socket.destroy();

  const begin = async (some: readonly TestKey[]) => {
    // A server admits few requests at once with a key that it has not seen for a minute.
    for (const each of some) await watched.send('/v2/store/orders?limit=1', each);
    return Promise.all(some.flatMap((each) => Array.from({ length: LISTS_PER_KEY }, () => beginList(port, each))));
  };
  const sockets = await begin(keys.slice(0, MANY_KEYS));
  await watched.untilCalm();
  const faulty = await watched.observe({ ms: LONG_MS, hasLists: false });
  recordings.add('many lists', { healthy, faulty });
  await recordings.follow('PetstoreNearCapacity', surroundings);
  sockets.push(...(await begin(keys.slice(MANY_KEYS))));
  await watched.untilCalm();
  recordings.add('too many lists', { healthy, faulty: await watched.observe({ ms: LONG_MS }) }); // one request in seven is a list
  await recordings.follow('PetstoreOverloaded', surroundings);
  for (const socket of sockets) socket.destroy();
}

/** Requests a list, and reads no more than the beginning of the response. */
function beginList(port: number, key: TestKey): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', reject);
    socket.write(`GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\n\r\n`);
    socket.once('data', () => {
      socket.pause();
      resolve(socket);
    });
  });
}
