import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPersistence } from '@petstore/persistence';
import { expect, test } from 'vitest';
import { petstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

interface FarDatabase extends AsyncDisposable {
  readonly url: string;
}

interface Distance {
  /** The time of each piece of data in each direction. */
  readonly delayMs: number;
  /** How long the first connection waits before anything passes. */
  readonly wakesAfterMs?: number;
}

/** The database of the command line, at a distance. */
async function openFarDatabase({ delayMs, wakesAfterMs = 0 }: Distance): Promise<FarDatabase> {
  const { hostname, port } = new URL(commandLine.url);
  const awake = sleep(wakesAfterMs);
  const sockets = new Set<Socket>();
  const pipe = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (data) => void Promise.all([awake, sleep(delayMs)]).then(() => to.write(data)));
    from.on('close', () => void sleep(delayMs).then(() => to.destroy()));
    from.on('error', () => {}); // it closes
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    pipe(near, far);
    pipe(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // never a path, as TCP is used
  const url = Object.assign(new URL(commandLine.url), { hostname: '127.0.0.1', port: String(address.port) });
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const listKeys = (url: string, ...flags: string[]) =>
  petstore(['keys', 'list', ...flags], { environment: { DATABASE_URL: url, DATA_DIR: commandLine.folder } });

test.each<Distance>([{ delayMs: 100 }, { delayMs: 0, wakesAfterMs: 4_000 }])(
  'a command waits for a database that is far away or wakes: %o',
  async (distance) => {
    await using database = await openFarDatabase(distance);
    expect(await listKeys(database.url, '--json')).toMatchObject({ code: 0, stderr: '' });
  },
);

test('connect_timeout says how long', async () => {
  await using database = await openFarDatabase({ delayMs: 0, wakesAfterMs: 4_000 });
  const { code, stderr } = await listKeys(`${database.url}?connect_timeout=1`);
  expect([code, stderr]).toEqual([1, 'petstore: PostgreSQL is hung (not responding)\n']);
});

test('callers of a server wait no longer for it', async () => {
  await using database = await openFarDatabase({ delayMs: 0, wakesAfterMs: 60_000 });
  await using persistence = openPersistence({ databaseUrl: database.url });
  const beganMs = performance.now();
  await expect(persistence.orders.countOrders()).rejects.toMatchObject({ name: 'StorageUnavailableError' });
  expect(performance.now() - beganMs).toBeLessThan(3_000);
});
