import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What stands between the server and PostgreSQL or Redis, and counts how often the one waits for the other. */
export interface CountingProxy extends AsyncDisposable {
  readonly url: string;
  /** Questions since the last call: what was sent after an answer, or first of all. */
  takeRoundTrips(): number;
}

/** @param target the URL of PostgreSQL or of Redis on this machine */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const url = new URL(target);
  const targetPort = Number(url.port);
  const sockets = new Set<Socket>();
  let roundTrips = 0;
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    let isAnswered = true;
    for (const socket of [client, upstream]) {
      socket.setNoDelay();
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (bytes) => {
      if (isAnswered) roundTrips++;
      isAnswered = false;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      isAnswered = true;
      client.write(bytes);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
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
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
