import { launchChromium, openWatchedPage, type Page, type WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from '../process/support/start-server.ts';
import { KEYS } from '../support/keys.ts';
import { importDemoOrders } from '../support/template-database.ts';

// The reference of the real server, as a caller meets it: with a key of the free plan, in a real browser.

const started = await startServer();
await importDemoOrders(started.databaseUrl);
const origin = await started.server.url();
const browser = await launchChromium();
afterAll(async () => {
  await browser.close();
  await started[Symbol.asyncDispose]();
});

const eventually = <Value>(read: () => Value) => expect.poll(read, { timeout: 25_000 });

/** The reference, with a key entered. */
async function openReference(key: string): Promise<WatchedPage> {
  const watched = await openWatchedPage(browser, `${origin}/docs`);
  await watched.page.getByRole('heading', { name: 'List all orders' }).waitFor({ state: 'attached' });
  await enterKey(watched.page, key);
  return watched;
}

const enterKey = (page: Page, key: string) => page.getByPlaceholder('Token').first().fill(key);

async function openConsole(page: Page, operation: RegExp) {
  await page.getByRole('button', { name: operation }).first().click();
  const dialog = page.getByRole('dialog');
  const send = dialog.getByRole('button', { name: /^Send/ }).first();
  await send.waitFor();
  return {
    enter: (name: string, value: string) =>
      dialog.locator('[role=row], tr').filter({ hasText: name }).getByRole('combobox').last().fill(value),
    async send() {
      const response = page.waitForResponse((candidate) => new URL(candidate.url()).pathname.startsWith('/v1/store/'));
      await send.click();
      return response;
    },
    text: () => dialog.textContent(),
    async showHeaders() {
      const section = dialog.getByRole('button', { name: /^Response Headers/ });
      if ((await section.getAttribute('aria-expanded')) !== 'true') await section.click();
    },
    close: () => page.getByRole('button', { name: 'Close Client' }).click(),
  };
}

describe('a caller who pastes a key into the reference', () => {
  // One page for two callers, since drawing one takes seconds of a processor.
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await openReference(KEYS.free.text);
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test('lists the orders, cancels one, and sees the remaining requests in the headers', async () => {
    const list = await openConsole(reference.page, /Test Request.*get \/store\/orders\)/);
    expect((await list.send()).status()).toBe(200);
    await eventually(list.text).toContain('200 OK');
    await eventually(list.text).toMatch(/"id": ?1,/);
    await list.showHeaders();
    await eventually(list.text).toMatch(/x-ratelimit-limit\s*60/i);
    await eventually(list.text).toMatch(/x-ratelimit-remaining\s*59/i);
    await list.close();

    const cancel = await openConsole(reference.page, /Test Request.*delete \/store\/orders/);
    await cancel.enter('orderId', '1');
    const cancelled = await cancel.send();
    expect([cancelled.status(), new URL(cancelled.url()).pathname]).toEqual([204, '/v1/store/orders/1']);
    await eventually(cancel.text).toContain('204 No Content');
    await cancel.showHeaders();
    await eventually(cancel.text).toMatch(/x-ratelimit-remaining\s*58/i);
    expect(reference.offences).toEqual([]);

    expect((await cancel.send()).status()).toBe(409);
    await eventually(cancel.text).toContain('order_already_cancelled');
    await cancel.close();
  });

  test('sees the error of an invalid key', async () => {
    await enterKey(reference.page, `${KEYS.free.text.slice(0, -1)}!`);
    const list = await openConsole(reference.page, /Test Request.*get \/store\/orders\)/);
    expect((await list.send()).status()).toBe(401);
    await eventually(list.text).toContain('invalid_api_key');
  });

  test('leaves it nowhere: not in storage, in cookies, in a URL, or on the next visit', async () => {
    const key = KEYS.unlimited.text;
    await using visit = await openReference(key);
    const { page } = visit;
    const sent: { path: string; holdsKey: boolean }[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      const holdsKey = JSON.stringify([request.url(), request.headers(), request.postData()]).includes(key);
      sent.push({ path: pathname, holdsKey });
    });
    const list = await openConsole(page, /Test Request.*get \/store\/orders\)/);
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

    await page.waitForLoadState('networkidle'); // requests that a reload cancels would count as offences
    await page.reload();
    await page.getByRole('heading', { name: 'List all orders' }).waitFor({ state: 'attached' });
    expect(await page.getByPlaceholder('Token').first().inputValue()).toBe('');
    expect(visit.offences).toEqual([]);
  });
});

test.each(['/docs', '/docs/authentication', '/docs/errors/rate_limit_exceeded'])(
  '%s needs no key, is not counted, and is served compressed under its own policy',
  async (path) => {
    const response = await fetch(origin + path, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-encoding')).toBe('br');
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  },
);
