import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What stands between the server and PostgreSQL or Redis, and counts how often the one waits for the other. */
export interface CountingProxy extends AsyncDisposable {
  readonly url: string;
  /** Questions since the last call: what was sent after an answer, or first of all. */
  takeRoundTrips(): number;
  /** Resolves when no connection is being made or waits for an answer. */
  rest(): Promise<void>;
}

/** PostgreSQL's last word on a question, or on who connects: it has nothing under way. */
const READY_FOR_QUERY = Buffer.from('Z\0\0\0\x05I');
/** The goodbye of a connection that was idle for long, which nobody answers. */
const TERMINATE = Buffer.from('X\0\0\0\x04');

/** @param target the URL of PostgreSQL or of Redis on this machine */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const url = new URL(target);
  const isPostgres = url.protocol.startsWith('postgres');
  const targetPort = Number(url.port);
  const sockets = new Set<Socket>();
  /** Connections of which more is to come. */
  const busy = new Set<Socket>();
  let roundTrips = 0;
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    let isAnswered = true;
    let lastBytes = Buffer.alloc(0);
    busy.add(client);
    for (const socket of [client, upstream]) {
      socket.setNoDelay();
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (bytes) => {
      if (isAnswered && !(isPostgres && bytes.equals(TERMINATE))) roundTrips++;
      isAnswered = false;
      busy.add(client);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      isAnswered = true;
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
