import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A TCP port of the loopback interface that is free at this moment. Another process may take it first. */
export async function findFreePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo; // a TCP listener's address is never a path
  probe.close();
  await once(probe, 'close');
  return port;
}
