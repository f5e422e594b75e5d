import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A proxy between the server and PostgreSQL or Redis that counts round trips. */
export interface CountingProxy extends AsyncDisposable {
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
export async function startCountingProxy(target: string): Promise<CountingProxy> {
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
