import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { expect, it } from 'vitest';
import { download } from '../src/load/download.ts';

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a server listens on a port');
  return {
    listUrl: `http://127.0.0.1:${address.port}/list`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

it('a list is read whole, with the key', async () => {
  await using server = await serve((request, response) => response.end(request.headers.authorization));
  expect(await download(server.listUrl, 'a-key')).toMatchObject({ bytes: 'Bearer a-key'.length });
});

it('a list that breaks off is an error', async () => {
  await using server = await serve((_request, response) => {
    response.write('[1,2', () => setImmediate(() => response.destroy()));
  });
  await expect(download(server.listUrl, 'a-key')).rejects.toThrow();
});

it('a response other than 200 is an error', async () => {
  await using server = await serve((_request, response) => response.writeHead(503).end('[]'));
  await expect(download(server.listUrl, 'a-key')).rejects.toThrow('the response to the list has the status 503');
});
