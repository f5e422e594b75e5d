import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { readSendQueue } from '../src/http/edge/send-queue.ts';

/** Far more than the system takes for a connection that nobody reads. */
const BYTES = 30_000_000;

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ family }) => family === 'IPv6'),
);
/** Where a server listens, and where it is called. */
const WAYS = [
  ['127.0.0.1', '127.0.0.1'],
  ...(hasIPv6
    ? [
        ['::1', '::1'],
        ['::', '127.0.0.1'],
      ]
    : []),
];

test.each(WAYS)('what was sent from %s to %s and not taken is told, of that connection alone', async (host, to) => {
  const server = createServer();
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP listener
  const open = async (): Promise<readonly [Socket, Socket]> => {
    const accepted = once(server, 'connection');
    const client = connect(port, to).pause();
    await once(client, 'connect');
    const [own] = await accepted;
    return [own, client];
  };
  const [unread, unreadClient] = await open();
  const [idle, idleClient] = await open();
  unread.write(Buffer.alloc(BYTES));
  const queueOf = (socket: Socket) => readSendQueue(socket, 0);
  await expect.poll(() => queueOf(unread), { timeout: 20_000 }).toBeGreaterThan(100_000);
  expect(await queueOf(idle)).toBe(0);
  unreadClient.resume();
  await expect.poll(() => queueOf(unread), { timeout: 20_000 }).toBe(0);
  // What was read before now says nothing of now.
  expect(await readSendQueue(unread, performance.now() + 1)).toBeUndefined();
  for (const socket of [unreadClient, idleClient]) socket.destroy();
  server.close();
});
