import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createTestDatabase } from '@petstore/testing';
import type { DatabaseOptions } from '../../../src/database/database.ts';
import { openPersistence } from '../../../src/index.ts';

/** A database that is reached over a proxy, and directly. */
export async function openOverProxy() {
  await using resources = new AsyncDisposableStack();
  const { url } = resources.use(await createTestDatabase());
  const direct = resources.use(openPersistence({ databaseUrl: url }));
  await direct.migrations.migrate();
  const proxy = resources.use(await startProxy(Number(new URL(url).port)));
  const databaseUrl = Object.assign(new URL(url), { port: String(proxy.port) }).href;
  const held = resources.move();
  return {
    direct,
    proxy,
    open: (options: Pick<DatabaseOptions, 'connections' | 'patienceMs'> = {}) =>
      openPersistence({ databaseUrl, ...options }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Passes bytes on to a server of this machine, until it is told to delay or to swallow them. */
async function startProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let trigger: string | undefined;
  let silencesAll = false;
  let isAllSilent = false;
  let delayMs = 0;
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let isSilent = false;
    const passes = () => !isSilent && !isAllSilent;
    client.on('data', (data) => {
      isSilent ||= trigger !== undefined && data.includes(trigger);
      isAllSilent ||= isSilent && silencesAll;
      if (passes()) target.write(data);
    });
    target.on('data', (data) => {
      if (passes()) setTimeout(() => client.write(data), delayMs);
    });
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          if (passes() || socket === client) other.destroy();
        });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // what a TCP server that listens has
  return {
    port,
    /** From now on a connection says nothing more once its client has sent this text, or anything at all; or all do then. */
    silence: (text = '', { all = false } = {}) => {
      trigger = text;
      silencesAll = all;
    },
    /** From now on new connections respond. */
    respond: () => {
      trigger = undefined;
    },
    /** From now on no new connection is accepted. */
    refuse: () => server.close(),
    /** From now on what the server sends arrives later, by so many milliseconds. */
    delay: (ms: number) => {
      delayMs = ms;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) server.close();
    },
  };
}
