import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface FarServer extends AsyncDisposable {
  readonly url: string;
}

interface Distance {
  /** The time of each piece of data in each direction. */
  readonly delayMs: number;
  /** How long the first connection waits before anything passes. */
  readonly wakesAfterMs?: number;
}

/** The server of a URL, at a distance. */
export async function openFarServer(nearUrl: string, { delayMs, wakesAfterMs = 0 }: Distance): Promise<FarServer> {
  const { hostname, port } = new URL(nearUrl);
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
  const url = Object.assign(new URL(nearUrl), { hostname: '127.0.0.1', port: String(address.port) });
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
