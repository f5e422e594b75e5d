import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems assign to connections and listeners: from 32768 on Linux and from 49152 on macOS. The same is
 * true of the port 10,000 above, at which a node of a Redis cluster listens to the others.
 */
const FIRST_PORT = 12_000;
const PORT_END = 22_000;

/**
 * A free TCP port of the loopback interface. It stays free while its server is stopped: the system assigns it to no
 * listener, and to no client, which could otherwise connect to itself.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, PORT_END);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
