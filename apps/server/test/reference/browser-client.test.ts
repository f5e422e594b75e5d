import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { launchChromium } from '@petstore/testing/chromium';
import { rolldown } from 'rolldown';
import { afterAll, expect, test } from 'vitest';
import { ServerUnderTest, useDataFolder } from '../process/support/server-process.ts';

// The client, bundled into a page of another origin, and the real server: what a web shop does.

/** Tells in its title what came of it. */
const PROGRAM = `
  import { ConflictError, createPetstoreClient, RateLimitError } from '@petstore/client';
  const [baseUrl, apiKey] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const lines = [];
  const client = createPetstoreClient({ baseUrl, apiKey, maxRetryAfterSeconds: 0 });
  try {
    const [{ id }] = await client.rest.listOrders().toArray();
    await client.rest.cancelOrder({ orderId: id });
    await client.rest.cancelOrder({ orderId: id }).catch((error) => {
      lines.push(error instanceof ConflictError, error.code, error.requestId?.length);
    });
    let streamed = 0;
    for await (const orders of await client.orders.list.query()) streamed += orders.length;
    lines.push(streamed > 10);
    for (;;) await client.rest.listOrders().toArray();
  } catch (error) {
    lines.push(error instanceof RateLimitError || error.name, error.retryAfterSeconds > 0);
  }
  document.title = lines.join(', ');
`;

async function bundleProgram(): Promise<string> {
  const bundle = await rolldown({
    input: 'program.js',
    cwd: import.meta.dirname,
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === 'program.js' ? `${import.meta.dirname}/program.js` : null),
        load: (id) => (id.endsWith('/program.js') ? PROGRAM : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  return output[0].code;
}

const code = await bundleProgram();
const pages = createServer((request, response) => {
  response.setHeader('content-type', request.url === '/program.js' ? 'text/javascript' : 'text/html');
  response.end(request.url === '/program.js' ? code : '<script type="module" src="/program.js"></script>');
}).listen(0, '127.0.0.1');
await once(pages, 'listening');
const pageOrigin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`; // it listens on TCP
const folder = useDataFolder();
const server = new ServerUnderTest(folder.path, { CORS_ORIGINS: pageOrigin });
const browser = await launchChromium();
afterAll(async () => {
  await browser.close();
  pages.close();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** What the page comes to, opened at an origin. */
async function titleAt(origin: string): Promise<string> {
  const page = await browser.newPage();
  const keys = await server.demoKeys();
  const options = JSON.stringify([await server.url(), keys.get('free')]);
  await page.goto(`${origin}/#${encodeURIComponent(options)}`);
  await page.waitForFunction(() => document.title !== '');
  return page.title();
}

test('a page of an allowed origin lists, cancels, streams, and reads of each refusal what it tells', async () => {
  expect(await titleAt(pageOrigin)).toBe('true, order_already_cancelled, 36, true, true, true');
});

test('a page of any other origin gets nothing', async () => {
  expect(await titleAt(pageOrigin.replace('127.0.0.1', 'localhost'))).toMatch(/^ConnectionError/);
});
