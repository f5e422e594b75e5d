import {
  type BrowserContextOptions,
  launchChromium,
  openWatchedPage,
  type Page,
  type WatchedPage,
} from '@petstore/testing/chromium';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { ERROR_PATHS, GUIDE_PATHS } from './support/pages.ts';
import { startSiteServer } from './support/site-server.ts';

// More than a browser's own 30 s, so that it is the browser that tells what did not come.
vi.setConfig({ testTimeout: 90_000 });

const site = await startSiteServer();
const browser = await launchChromium();
afterAll(async () => {
  await browser.close();
  await site[Symbol.asyncDispose]();
});

const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const visit = (path: string, options?: BrowserContextOptions): Promise<WatchedPage> =>
  openWatchedPage(browser, site.origin + path, options);

/** A visit to the reference, once it shows its operations. */
async function visitReference(path = '/docs', options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const reference = await visit(path, options);
  await reference.page.getByRole('heading', { name: 'List all orders' }).waitFor({ state: 'attached' });
  // What is still on its way would break off where a test leaves the page, and listeners would not be there yet.
  await reference.page.waitForLoadState('networkidle');
  return reference;
}

/** Waits for what the page is about to show. */
const eventually = <Value>(read: () => Value) => expect.poll(read, { timeout: 25_000 });
const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth);
const isDark = (page: Page) =>
  page.evaluate(() => {
    const [red = 255] = getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? [];
    return Number(red) < 64;
  });

describe('the reference', () => {
  test('loads from here alone, and breaks neither its policy nor anything else', async () => {
    await using reference = await visitReference();
    await reference.page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click();
    await reference.page.getByRole('button', { name: /^Send/ }).first().waitFor();
    expect(reference.offences).toEqual([]);
  });

  test('offers no service of others; the only way out is the name of who made the bundle', async () => {
    await using reference = await visitReference();
    const links = await reference.page
      .locator('a[href]')
      .evaluateAll((anchors: HTMLAnchorElement[]) => anchors.map(({ href }) => href));
    expect(links.filter((href) => new URL(href).origin !== site.origin)).toEqual(['https://www.scalar.com/']);
    expect(
      await reference.page.getByRole('button', { name: /Ask|AI|VS Code|Cursor|Client|Deploy|Share/ }).count(),
    ).toBe(0);
  });

  test('shows every operation, section and schema', async () => {
    await using reference = await visitReference();
    const sidebar = reference.page.locator('aside');
    for (const name of [
      'List all orders',
      'Cancel an order',
      'Find a pet by its identifier',
      'Store',
      'Pets',
      'Order',
      'Error',
    ]) {
      await eventually(() => sidebar.getByText(name, { exact: true }).count()).toBeGreaterThan(0);
    }
  });

  test.each(['/docs#cancelOrder', '/docs#tag/orders/cancelOrder'])('opens at the operation of %s', async (path) => {
    await using reference = await visitReference(path);
    const heading = reference.page.getByRole('heading', { name: 'Cancel an order' });
    await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(300);
    await eventually(() => new URL(reference.page.url()).hash).toBe('#tag/orders/cancelOrder');
  });

  test('has samples in four languages, that name this server', async () => {
    await using reference = await visitReference('/docs#cancelOrder');
    const operation = reference.page
      .locator('section', { has: reference.page.getByRole('heading', { name: 'Cancel an order' }) })
      .last();
    for (const [language, text] of [
      ['TypeScript', 'await fetch'],
      ['Python', 'requests.delete'],
      ['Go', 'http.NewRequest'],
      ['curl', '--request DELETE'],
    ] as const) {
      await operation.getByTestId('client-picker').click();
      await reference.page.getByRole('option', { name: language, exact: true }).click();
      await eventually(() => operation.locator('.code-snippet').textContent()).toContain(text);
      await eventually(() => operation.locator('.code-snippet').textContent()).toContain(
        `${site.origin}/v1/store/orders/1`,
      );
    }
    expect(reference.offences).toEqual([]);
  });

  test('leads from an answer to the page of its error code', async () => {
    await using reference = await visitReference('/docs#cancelOrder');
    await reference.page.getByRole('link', { name: 'order_not_found' }).first().click();
    await reference.page.waitForURL('**/docs/errors/order_not_found');
    expect(reference.offences).toEqual([]);
  });

  test('fits on a phone', async () => {
    // Where there is little room, operations are drawn when they come into sight.
    await using reference = await visitReference('/docs#listOrders', PHONE);
    await eventually(() => widthOf(reference.page)).toBeLessThanOrEqual(390);
    await reference.page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click();
    const address = reference.page.getByRole('dialog').locator('.address-bar-bg-states');
    await eventually(async () => (await address.boundingBox())?.width).toBeGreaterThan(250);
    // The button that opens the list is to the left of it, and not on it.
    await eventually(async () => (await address.boundingBox())?.x).toBeGreaterThan(44);
    expect(reference.offences).toEqual([]);
  });
});

test('the reference of v2 shows its operation alone, with samples that name v2', async () => {
  await using reference = await visit('/docs/v2#listOrdersPage');
  await reference.page.getByRole('heading', { name: 'List orders, page by page' }).first().waitFor();
  await eventually(() => reference.page.locator('.code-snippet').first().textContent()).toContain(
    `${site.origin}/v2/store/orders`,
  );
  expect(await reference.page.getByText('Cancel an order').count()).toBe(0);
  await reference.page.getByText('shipDateFrom').first().waitFor();
  expect(reference.offences).toEqual([]);
});

describe('search', () => {
  const searchFor = async (page: Page, words: string) => {
    const dialog = page.getByRole('dialog', { name: 'Search' });
    await dialog.getByRole('searchbox').fill(words);
    return { dialog, first: dialog.getByRole('link').first() };
  };

  test.each([
    ['cancel', 'Cancel an order'],
    ['getPetById', 'Find a pet by its identifier'],
    ['listOrdersPage', 'List orders, page by page'],
    ['shipDate', 'Order'],
    ['backing off', 'Limits and backing off'],
    ['banned', 'api_key_banned'],
    ['order_already_cancelled', 'order_already_cancelled'],
    ['Retry-After', 'Error 429'],
    ['429', 'Error 429'],
    ['cursor', 'v2 preview'],
    ['client', 'Five minutes over REST'],
    ['rate limt', 'rate_limit_exceeded'],
  ])('for "%s" finds %s', async (words, found) => {
    await using guide = await visit('/docs/versions');
    await guide.page.keyboard.press('Control+k');
    const { dialog } = await searchFor(guide.page, words);
    await eventually(async () => (await dialog.getByRole('link').allTextContents()).slice(0, 4).join()).toContain(
      found,
    );
    expect(guide.offences).toEqual([]);
  });

  test('leads with Enter from the reference to a section of a guide', async () => {
    await using reference = await visitReference();
    await reference.page.keyboard.press('Control+k');
    const { first } = await searchFor(reference.page, 'strike');
    await eventually(() => first.textContent()).toContain('Bans');
    await reference.page.keyboard.press('Enter');
    await reference.page.waitForURL('**/docs/limits#bans');
    expect(reference.offences).toEqual([]);
  });

  test.each([
    ['cancelOrder', '#tag/orders/cancelOrder', 'Cancel an order'],
    ['order schema', '#models/Order', 'Order'],
  ])('for "%s" leads within the reference to %s', async (words, hash, name) => {
    await using reference = await visitReference();
    await reference.page.getByRole('button', { name: 'Search' }).click();
    const { dialog, first } = await searchFor(reference.page, words);
    await eventually(() => first.textContent()).toContain(name);
    await reference.page.keyboard.press('ArrowDown');
    await reference.page.keyboard.press('Enter');
    await eventually(() => dialog.isVisible()).toBe(false);
    expect(new URL(reference.page.url()).hash).toBe(hash);
    const heading = reference.page.getByRole('heading', { name, exact: true }).last();
    await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(400);
    await eventually(async () => (await heading.boundingBox())?.y).toBeGreaterThan(0);
  });

  test('tells that there is nothing, and finds again what there is', async () => {
    await using guide = await visit('/docs/errors/overloaded', PHONE);
    await guide.page.getByRole('button', { name: 'Search' }).tap();
    const { dialog, first } = await searchFor(guide.page, 'hippopotamus');
    await dialog.getByText('Nothing found for “hippopotamus”.').waitFor();
    await searchFor(guide.page, 'api_key_banned');
    await eventually(() => first.getAttribute('href')).toBe(`${site.origin}/docs/errors/api_key_banned`);
    expect(await widthOf(guide.page)).toBeLessThanOrEqual(390);
    await guide.page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(false);
  });
});

describe('the header', () => {
  test.each(['/docs', '/docs/v2', '/docs/v2-preview', '/docs/errors/overloaded'])(
    'shows on a phone that %s is where one is',
    async (path) => {
      await using page = await visit(path, PHONE);
      const here = page.page.locator('.site-header [aria-current=page]');
      expect(await here.count()).toBe(1);
      const [box, nav] = [await here.boundingBox(), await page.page.locator('.site-header nav').boundingBox()];
      expect(box?.x).toBeGreaterThanOrEqual(nav?.x ?? Infinity);
      expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual((nav?.x ?? 0) + (nav?.width ?? 0));
    },
  );

  test('has room for every entry on a wide screen', async () => {
    await using guide = await visit('/docs/errors');
    const nav = guide.page.locator('.site-header nav');
    expect(await nav.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });

  test('leads from v1 to the reference of v2, and back', async () => {
    await using reference = await visitReference();
    const header = reference.page.getByRole('navigation', { name: 'Documentation' });
    await header.getByRole('link', { name: 'v2 reference' }).click();
    await reference.page.getByRole('heading', { name: 'List orders, page by page' }).first().waitFor();
    await header.getByRole('link', { name: 'Reference', exact: true }).click();
    await reference.page.getByRole('heading', { name: 'List all orders' }).waitFor({ state: 'attached' });
  });
});

test.each([1440, 390])('every status of an answer can be seen and chosen %d pixels wide', async (width) => {
  await using reference = await visitReference('/docs#getPetById', { viewport: { width, height: 900 } });
  const card = reference.page.locator('.response-card').filter({ hasText: '410' }).last();
  const tab = card.getByRole('tab', { name: /default/ });
  await tab.waitFor();
  // Before the click, which would scroll to it.
  const [box, list] = [await tab.boundingBox(), await card.getByRole('tablist').boundingBox()];
  expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual((list?.x ?? 0) + (list?.width ?? 0));
  await tab.click();
  await eventually(() => tab.getAttribute('aria-selected')).toBe('true');
});

test.each(['/docs/five-minutes-rest', '/docs/authentication'])(
  'the commands of %s name the installation that shows them',
  async (path) => {
    await using guide = await visit(path);
    const commands = guide.page.locator('main pre', { hasText: `${site.origin}/v1/store/orders` });
    await eventually(() => commands.count()).toBeGreaterThan(0);
    expect(await guide.page.locator('main').textContent()).not.toMatch(/127\.0\.0\.1:3000|https:\/\/petstore\.example/);
    expect(guide.offences).toEqual([]);
  },
);

test.each([...GUIDE_PATHS, ERROR_PATHS[0] ?? ''])('%s loads from here alone, and fits on a phone', async (path) => {
  await using guide = await visit(path, PHONE);
  expect(await widthOf(guide.page)).toBeLessThanOrEqual(390);
  expect(guide.offences).toEqual([]);
});

test('a guide leads to the operation that it names', async () => {
  await using guide = await visit('/docs/authentication');
  await guide.page
    .locator('aside')
    .getByRole('link', { name: /Cancel an order/ })
    .click();
  const heading = guide.page.getByRole('heading', { name: 'Cancel an order' });
  await heading.waitFor();
  await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(300);
});

describe('dark and light', () => {
  test.each([
    ['/docs/errors', 'light', false],
    ['/docs/errors', 'dark', true],
    ['/docs', 'light', false],
    ['/docs', 'dark', true],
  ] as const)('%s follows a system that is %s', async (path, colorScheme, dark) => {
    await using guide = await visit(path, { colorScheme });
    await eventually(() => isDark(guide.page)).toBe(dark);
  });

  test('chosen on one page holds on the others', async () => {
    await using guide = await visit('/docs/errors', { colorScheme: 'light' });
    await guide.page.getByRole('button', { name: 'Dark mode' }).click();
    await eventually(() => isDark(guide.page)).toBe(true);
    await guide.page.getByRole('link', { name: 'Reference', exact: true }).first().click();
    await guide.page.getByRole('heading', { name: 'List all orders' }).waitFor({ state: 'attached' });
    await eventually(() => isDark(guide.page)).toBe(true);
    await guide.page.getByRole('button', { name: 'Dark mode' }).click();
    await eventually(() => isDark(guide.page)).toBe(false);
  });
});

test('without JavaScript the reference leads to what can be read', async () => {
  await using reference = await visit('/docs', { javaScriptEnabled: false });
  expect(await reference.page.locator('noscript .notice').isVisible()).toBe(true);
  expect(await reference.page.getByRole('link', { name: 'Errors' }).isVisible()).toBe(true);
});

test('a document that does not load is told', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route('**/v1/openapi.json', (route) => route.fulfill({ status: 503 }));
  await page.goto(`${site.origin}/docs`);
  await page.getByRole('alert').getByText('could not be loaded').waitFor();
  await context.close();
});
