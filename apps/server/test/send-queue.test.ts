import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { readSendQueue } from '../src/http/edge/send-queue.ts';

/** Far more than the system buffers for a connection without a reader. */
const BYTES = 30_000_000;

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ family }) => family === 'IPv6'),
);
/** Where a server listens, and the address that a client connects to. */
const WAYS = [
  ['127.0.0.1', '127.0.0.1'],
  ...(hasIPv6
    ? [
        ['::1', '::1'],
        ['::', '127.0.0.1'],
      ]
    : []),
];

test.each(WAYS)('the send queue from %s to %s is that of the one connection', async (host, to) => {
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
  // An earlier reading is not used.
  expect(await readSendQueue(unread, performance.now() + 1)).toBeUndefined();
  for (const socket of [unreadClient, idleClient]) socket.destroy();
  server.close();
});
