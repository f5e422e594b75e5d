import { openChromium, openWatchedPage, type Page, type WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importDemoOrders, KEYS } from '../support/database.ts';
import { startServer } from '../support/spawned-server.ts';

// The reference of the real server, as a caller meets it: with a key of the free plan, in a real browser.

const started = await startServer();
await importDemoOrders(started.databaseUrl);
const origin = await started.server.url();
const browser = await openChromium();
afterAll(() => started[Symbol.asyncDispose]());

const eventually = <Value>(read: () => Value) => expect.poll(read, { timeout: 10_000 });

/** Opens the console of an operation, and returns what a caller does with it. */
async function openConsole(page: Page, operation: string) {
  const form = page.getByRole('form', { name: `Try it: ${operation}` });
  if (!(await form.isVisible())) await page.getByRole('button', { name: `Try it: ${operation}` }).click();
  return {
    enterKey: (key: string) => form.getByLabel('API key').fill(key),
    enter: (name: string, value: string) => form.getByLabel(name).fill(value),
    async send() {
      const response = page.waitForResponse((candidate) => new URL(candidate.url()).pathname.startsWith('/v1/store/'));
      await form.getByRole('button', { name: /^Send/ }).click();
      return response;
    },
    text: () => form.textContent(),
    help: form.getByRole('link', { name: /^What it means/ }),
  };
}

describe('a caller who pastes a key into the reference', () => {
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await openWatchedPage(browser, `${origin}/docs`);
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test('lists the orders, cancels one, and sees the remaining requests in the headers', async () => {
    const list = await openConsole(reference.page, 'List all orders');
    await list.enterKey(KEYS.free.text);
    expect((await list.send()).status()).toBe(200);
    await eventually(list.text).toContain('200 OK');
    await eventually(list.text).toMatch(/"id": 1,/);
    await eventually(list.text).toMatch(/x-ratelimit-limit\s*60/);
    await eventually(list.text).toMatch(/x-ratelimit-remaining\s*59/);

    const cancel = await openConsole(reference.page, 'Cancel an order');
    await cancel.enter('orderId', '1'); // the key is entered once for all operations
    const cancelled = await cancel.send();
    expect([cancelled.status(), new URL(cancelled.url()).pathname]).toEqual([204, '/v1/store/orders/1']);
    await eventually(cancel.text).toContain('204 No Content');
    await eventually(cancel.text).toMatch(/x-ratelimit-remaining\s*58/);
    expect(reference.offences).toEqual([]);
  });

  test('is led from an error to the page about it', async () => {
    const cancel = await openConsole(reference.page, 'Cancel an order');
    await cancel.enter('orderId', '1');
    expect((await cancel.send()).status()).toBe(409);
    await eventually(cancel.text).toContain('"code": "order_already_cancelled"');
    expect(await cancel.help.getAttribute('href')).toBe('docs/errors/order_already_cancelled');
  });

  test.each([
    ['an invalid key', `${KEYS.free.text.slice(0, -1)}!`, 'invalid_api_key'],
    ['no key', '', 'missing_api_key'],
  ])('sees the error of %s', async (_, key, code) => {
    const list = await openConsole(reference.page, 'List all orders');
    await list.enterKey(key);
    expect((await list.send()).status()).toBe(401);
    await eventually(list.text).toContain(code);
  });

  test('sees all digits of 64-bit ids', async () => {
    await using visit = await openWatchedPage(browser, `${origin}/docs`);
    await visit.page.route('**/v1/store/orders', (route) =>
      route.fulfill({ contentType: 'application/json', body: '[{"id":9223372036854775807}]' }),
    );
    const list = await openConsole(visit.page, 'List all orders');
    await list.send();
    await eventually(list.text).toContain('"id": 9223372036854775807');
  });

  test('leaves it nowhere: not in storage, in cookies, in a URL, or on the next visit', async () => {
    const key = KEYS.unlimited.text;
    await using visit = await openWatchedPage(browser, `${origin}/docs`);
    const { page } = visit;
    const sent: { path: string; holdsKey: boolean }[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      const holdsKey = JSON.stringify([request.url(), request.headers(), request.postData()]).includes(key);
      sent.push({ path: pathname, holdsKey });
    });
    const list = await openConsole(page, 'List all orders');
    await list.enterKey(key);
    const response = await list.send();
    expect(response.status()).toBe(200);
    expect(await response.request().headerValue('authorization')).toBe(`Bearer ${key}`);
    await eventually(list.text).toContain('200 OK');

    expect(sent.filter(({ holdsKey }) => holdsKey).map(({ path }) => path)).toEqual(['/v1/store/orders']);
    expect(JSON.stringify(await page.context().storageState({ indexedDB: true }))).not.toContain(key);
    const session = await page.evaluate(() =>
      JSON.stringify([Object.entries(sessionStorage), location.href, history.state]),
    );
    expect(session).not.toContain(key);

    await page.goto(`${origin}/docs/limits`);
    await page.goBack();
    expect(await page.getByLabel('API key').first().inputValue()).toBe('');
    await page.reload();
    expect(await page.getByLabel('API key').first().inputValue()).toBe('');
    expect(visit.offences).toEqual([]);
  });
});
