import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A real HTTP server on a free port of the loopback address. Disposing of it closes its connections. */
export interface TestHttpServer extends AsyncDisposable {
  /** Its address, such as `http://127.0.0.1:43210`. */
  readonly origin: string;
  /** Cuts all connections. The server still accepts new ones. */
  closeConnections(): void;
}

/** Starts a server that responds as the test says. */
export async function startHttpServer(listener: RequestListener): Promise<TestHttpServer> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    origin: `http://127.0.0.1:${port}`,
    closeConnections: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
