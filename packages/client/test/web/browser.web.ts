import { join } from 'node:path';
import { openChromium } from '@petstore/testing/chromium';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';
import { startTestService } from '../support/test-service.ts';

/** What the page runs: it lists, cancels, fails and aborts, and shows the outcome in its title. */
const PROGRAM = `
  import { createPetstoreRestClient, ConflictError } from '${join(import.meta.dirname, '../../src/rest.ts')}';
  const lines = [];
  const client = createPetstoreRestClient({ baseUrl: location.origin, apiKey: 'external' });
  for await (const { id, petId } of client.listOrders()) lines.push(id + ' ' + petId);
  const [first] = await client.listOrders().toArray();
  await client.cancelOrder({ orderId: first.id });
  await client.cancelOrder({ orderId: first.id }).catch((error) => {
    lines.push(error instanceof ConflictError, error.code, error.requestId);
  });
  const abort = new AbortController();
  const list = client.listOrders({ signal: abort.signal }).toArray();
  abort.abort(new Error('left'));
  await list.catch((error) => lines.push(error.message));
  document.title = lines.join(', ');
`;

async function bundleProgram(): Promise<string> {
  const bundle = await rolldown({
    input: 'program.js',
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === 'program.js' ? id : null),
        load: (id) => (id === 'program.js' ? PROGRAM : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  return output[0].code;
}

test('REST works in a browser', { timeout: 90_000 }, async () => {
  await using service = await startTestService();
  await service.persistence.orders.generateOrders({ count: 1, seed: 1, now: new Date() });
  const browser = await openChromium();
  await using page = await browser.newPage();
  // A page of the service's own origin, so that this is about the client and not about CORS.
  const body = `<script type="module">${await bundleProgram()}</script>`;
  await page.route(`${service.origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body }));
  await page.goto(`${service.origin}/page`);
  await expect
    .poll(() => page.title(), { timeout: 30_000 })
    .toMatch(/^-?\d+ -?\d+, true, order_already_cancelled, request-\d+, left$/);
});
