import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedServer extends AsyncDisposable {
  readonly origin: string;
}

/** A real HTTP server on loopback that responds as the test says. */
export async function startScriptedServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<ScriptedServer> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
