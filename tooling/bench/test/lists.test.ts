import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { download } from '../src/load/download.ts';
import { openUnreadList } from '../src/load/unread-list.ts';
import { growthSizes } from '../src/scenarios/growth.ts';
import { ListLengths } from '../src/scenarios/list-lengths.ts';

const KEY = 'a-key';
const CHUNK = Buffer.alloc(2 ** 20, ' ');
const CHUNKS = 64;

/** A server on a port of its own. */
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

it('a list that nobody reads holds its sender up, and is whole once somebody does', async () => {
  let sentChunks = 0;
  function* chunks() {
    for (; sentChunks < CHUNKS; sentChunks++) yield CHUNK;
  }
  await using server = await serve((request, response) => {
    expect(request.headers.authorization).toBe(`Bearer ${KEY}`);
    Readable.from(chunks()).pipe(response);
  });
  await using list = await openUnreadList(server.listUrl, KEY);
  // Many times what it takes to send it all to somebody who reads.
  await sleep(500);
  expect(sentChunks).toBeLessThan(CHUNKS);
  expect(await list.read()).toBe(CHUNKS * CHUNK.length);
});

it('a list that breaks off is told with what had come of it, whoever reads it', async () => {
  await using server = await serve((_request, response) => {
    response.write('[1,2', () => setTimeout(() => response.destroy(), 50));
  });
  await expect(download(server.listUrl, KEY)).rejects.toThrow('the list broke off after 4 bytes: ');
  await using list = await openUnreadList(server.listUrl, KEY);
  await expect(list.read()).rejects.toThrow();
});

it('an answer that is no list is refused', async () => {
  await using server = await serve((_request, response) => response.writeHead(503).end('[]'));
  await expect(download(server.listUrl, KEY)).rejects.toThrow('the list was answered with 503');
  await expect(openUnreadList(server.listUrl, KEY)).rejects.toThrow('the list was answered with 503');
});

it('lists of as many orders must be equally long, others need not', () => {
  const lengths = new ListLengths();
  lengths.check(10, 100);
  lengths.check(20, 200);
  lengths.check(10, 100);
  expect(() => lengths.check(10, 99)).toThrow('lists of 10 orders are not equally long: 100, 99 bytes');
  expect(() => lengths.check(20, 100)).toThrow('lists of 20 orders are not equally long: 200, 100 bytes');
});

it('whatever their length, as many orders are listed in all', () => {
  const sizes = growthSizes(1_000_000);
  expect(sizes.map(({ orders }) => orders)).toEqual([10_000, 100_000, 1_000_000]);
  expect(sizes.map(({ orders, lists }) => orders * lists)).toEqual([1_000_000, 1_000_000, 1_000_000]);
});
