import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The address of PostgreSQL as a virtual IP or a proxy gives it: a failover moves it from one server to another. */
export interface MovingAddress extends AsyncDisposable {
  readonly url: string;
  /** From now on, new connections lead to another server. Open ones still lead to the former. */
  moveTo(serverUrl: string): void;
  /** Open connections carry nothing any more, as those to a machine that is gone. */
  silence(): void;
  /** New connections are accepted and lead nowhere, until the result is called: then to where the address led before. */
  hold(): () => void;
}

export async function openMovingAddress(serverUrl: string): Promise<MovingAddress> {
  const sockets = new Set<Socket>();
  let target = new URL(serverUrl);
  let released = Promise.resolve();
  const listener = createServer(async (client) => {
    const { port, hostname } = target;
    sockets.add(client.on('error', () => {}));
    await released;
    if (client.destroyed) return;
    const server = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      from.pipe(to);
    }
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const { port } = listener.address() as AddressInfo; // what a TCP server that listens has
  return {
    url: Object.assign(new URL(serverUrl), { hostname: '127.0.0.1', port }).href,
    moveTo: (url) => {
      target = new URL(url);
    },
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      return resolve;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await once(listener.close(), 'close');
    },
  };
}
