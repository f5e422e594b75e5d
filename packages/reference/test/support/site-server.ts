import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openApiDocument } from '@petstore/api';
import { createReference } from '../../src/index.ts';

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

/** The site as a server would serve it, with the documents that it shows. */
export function startSiteServer(): Promise<TestServer> {
  const reference = createReference();
  const documents = new Map(
    (['v1', 'v2'] as const).map((version) => {
      const servers = [{ url: `https://petstore.example.com/${version}`, description: 'Production' }];
      return [`/${version}/openapi.json`, JSON.stringify(openApiDocument({ version, servers }))];
    }),
  );
  return startServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const document = documents.get(pathname);
    if (document !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(document);
      return;
    }
    const answer = await reference.respond({
      path: decodeURIComponent(pathname),
      acceptEncoding: request.headers['accept-encoding']?.toString(),
    });
    if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  });
}
