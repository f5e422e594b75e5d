import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { referenceAt } from './reference.ts';

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
}

export async function startServer(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** The site as a server would serve it, at another address than the one that its documents name. */
export function startSiteServer(): Promise<TestServer> {
  const reference = referenceAt('https://orders.example');
  return startServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const answer = await reference.respond({
      path: decodeURIComponent(pathname),
      accept: request.headers.accept,
      acceptEncoding: request.headers['accept-encoding']?.toString(),
    });
    if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  });
}
