import { startHttpServer } from '@petstore/testing';
import { openChromium } from '@petstore/testing/chromium';
import { rolldown } from 'rolldown';
import { afterAll, expect, test } from 'vitest';
import { DEMO_ORDER_COUNT, importDemoOrders, KEYS } from '../support/database.ts';
import { startServer } from '../support/spawned-server.ts';

// The client, bundled into a page of another origin, and the real server: what a web shop does.

/** Shows its results in the title, as JSON. */
const PROGRAM = `
  import { ConflictError, createPetstoreClient, RateLimitError } from '@petstore/client';
  const [baseUrl, apiKey] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const seen = { conflict: undefined, streamedOrders: 0, lastError: undefined };
  const client = createPetstoreClient({ baseUrl, apiKey, maxRetryAfterSeconds: 0 });
  try {
    const [{ id }] = await client.rest.listOrders().toArray();
    await client.rest.cancelOrder({ orderId: id });
    await client.rest.cancelOrder({ orderId: id }).catch((error) => {
      const { code, requestId } = error;
      seen.conflict = { isConflictError: error instanceof ConflictError, code, requestIdLength: requestId?.length };
    });
    for await (const orders of await client.orders.list.query()) seen.streamedOrders += orders.length;
    for (;;) await client.rest.listOrders().toArray();
  } catch (error) {
    const { name, retryAfterSeconds } = error;
    seen.lastError = { name, isRateLimitError: error instanceof RateLimitError, retryAfterSeconds };
  }
  document.title = JSON.stringify(seen);
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
const pages = await startHttpServer((request, response) => {
  response.setHeader('content-type', request.url === '/program.js' ? 'text/javascript' : 'text/html');
  response.end(request.url === '/program.js' ? code : '<script type="module" src="/program.js"></script>');
});
const started = await startServer({ CORS_ORIGINS: pages.origin });
await importDemoOrders(started.databaseUrl);
const browser = await openChromium();
afterAll(async () => {
  await pages[Symbol.asyncDispose]();
  await started[Symbol.asyncDispose]();
});

/** What the program of the page has seen, where the page is opened at an origin. */
async function runPageAt(origin: string): Promise<unknown> {
  await using page = await browser.newPage();
  const options = JSON.stringify([await started.server.url(), KEYS.free.text]);
  await page.goto(`${origin}/#${encodeURIComponent(options)}`);
  await page.waitForFunction(() => document.title !== '');
  return JSON.parse(await page.title());
}

test('a page of an allowed origin lists, cancels, streams, and reads what each refusal says', async () => {
  expect(await runPageAt(pages.origin)).toEqual({
    conflict: { isConflictError: true, code: 'order_already_cancelled', requestIdLength: 36 },
    streamedOrders: DEMO_ORDER_COUNT,
    lastError: {
      name: 'RateLimitError',
      isRateLimitError: true,
      retryAfterSeconds: expect.toSatisfy((seconds) => seconds > 0),
    },
  });
});

test('a page of any other origin gets nothing', async () => {
  expect(await runPageAt(pages.origin.replace('127.0.0.1', 'localhost'))).toMatchObject({
    streamedOrders: 0,
    lastError: { name: 'ConnectionError' },
  });
});
