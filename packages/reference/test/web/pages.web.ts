import type { Page, WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GUIDE_PATHS } from '../support/site.ts';
import { eventually, PHONE, useSiteBrowser, widthOf } from '../support/site-browser.ts';

const { origin, visit } = await useSiteBrowser();

const isDark = (page: Page) =>
  page.evaluate(() => {
    const [red = 255] = getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g) ?? [];
    return Number(red) < 64;
  });

/** Copy buttons that lie on the first line of what they copy. */
const codeBelowCopyButtons = (page: Page) =>
  page.locator('main .copy').evaluateAll((buttons) =>
    buttons.flatMap((button) => {
      const code = button.parentElement?.querySelector('code')?.getBoundingClientRect();
      return code !== undefined && code.height > 0 && code.top < button.getBoundingClientRect().bottom
        ? [button.parentElement?.textContent]
        : [];
    }),
  );

/** Links of the lists of pages whose text runs into the method beside it, or out of its link. */
const textsIntoMethods = (page: Page) =>
  page.locator('nav li a:has(b):visible').evaluateAll((links) =>
    links.flatMap((link) => {
      const text = document.createRange();
      text.selectNodeContents(link.firstChild ?? link);
      const right = text.getBoundingClientRect().right;
      const method = link.querySelector('b')?.getBoundingClientRect();
      const end = link.getBoundingClientRect().right;
      return method !== undefined && right <= method.left - 4 && method.right <= end ? [] : [link.textContent];
    }),
  );

test.each([
  ['a desktop', '/docs', { width: 1440, height: 900 }],
  ['a desktop', '/docs/v2', { width: 1440, height: 900 }],
  ['a smaller one', '/docs', { width: 1100, height: 800 }],
  ['a phone', '/docs', PHONE.viewport],
  ['a narrow phone', '/docs', { width: 320, height: 640 }],
])('on %s the names of operations on %s end before their methods', async (_, path, viewport) => {
  await using reader = await visit(path, { viewport });
  const { page } = reader;
  const summary = page.getByText('All pages', { exact: true });
  if (await summary.isVisible()) await summary.click();
  expect(await page.locator('nav li a:has(b):visible').count()).toBeGreaterThanOrEqual(3);
  expect(await textsIntoMethods(page)).toEqual([]);
});

describe('on a phone', () => {
  // One page for all: a new one costs a second of a processor.
  let phone: WatchedPage;
  beforeAll(async () => {
    phone = await visit('/docs/errors', PHONE);
  });
  afterAll(() => phone[Symbol.asyncDispose]());

  test.each(['/docs', '/docs/v2', ...GUIDE_PATHS, '/docs/errors/overloaded', '/docs/errors/insufficient_scope'])(
    '%s loads from here alone, and fits',
    async (path) => {
      await phone.page.goto(origin + path);
      for (const button of await phone.page.getByRole('button', { name: /^Try it/ }).all()) await button.tap();
      expect(await widthOf(phone.page)).toBeLessThanOrEqual(390);
      expect(await codeBelowCopyButtons(phone.page)).toEqual([]);
      expect(phone.offences).toEqual([]);
    },
  );

  test.each([
    ['/docs/v2-preview', 'Guides'],
    ['/docs/errors/overloaded', 'Errors'],
    ['/docs', 'Reference'],
    ['/docs/v2', 'Reference'],
  ])('the header shows that %s is in %s, and has room for all that it holds', async (path, name) => {
    await phone.page.goto(origin + path);
    const header = phone.page.locator('.site-header');
    const here = header.getByRole('navigation', { name: 'Documentation' }).locator('[aria-current]');
    expect(await here.allTextContents()).toEqual([name]);
    expect(await header.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });
});

test.each(['/docs/five-minutes-rest', '/docs/follow-orders'])(
  'the commands of %s name the installation that shows them',
  async (path) => {
    await using guide = await visit(path);
    const commands = guide.page.locator('main pre', { hasText: `${origin}/v` });
    await eventually(() => commands.count()).toBeGreaterThan(0);
    expect(await guide.page.locator('main').textContent()).not.toMatch(
      /127\.0\.0\.1:3000|https:\/\/api\.petstore\.example/,
    );
    expect(guide.offences).toEqual([]);
  },
);

test('a guide leads to the operation that it names, at /docs#cancelOrder', async () => {
  await using guide = await visit('/docs/authentication');
  const link = guide.page.locator('aside').getByRole('link', { name: /Cancel an order/ });
  expect(await link.evaluate((anchor: HTMLAnchorElement) => anchor.href)).toBe(`${origin}/docs#cancelOrder`);
  await link.click();
  const heading = guide.page.getByRole('heading', { name: /^Cancel an order/ });
  await heading.waitFor();
  await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(300);
});

describe('a guide', () => {
  let guide: WatchedPage;
  beforeAll(async () => {
    guide = await visit('/docs/five-minutes-rest', { permissions: ['clipboard-read', 'clipboard-write'] });
  });
  afterAll(() => guide[Symbol.asyncDispose]());

  test('has commands that are copied without their output', async () => {
    const block = guide.page.locator('.code', { hasText: '-X DELETE' });
    await block.hover();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const header = '-H "Authorization: Bearer $PETSTORE_API_KEY"';
    expect(await guide.page.evaluate(() => navigator.clipboard.readText())).toBe(
      `curl -s -i -X DELETE ${header} ${origin}/v1/store/orders/1
curl -s -X DELETE ${header} ${origin}/v1/store/orders/1
curl -s -X DELETE ${header} ${origin}/v1/store/orders/2`,
    );
  });

  test('has headings that link to themselves', async () => {
    await guide.page.evaluate(() => document.body.classList.add('loaded'));
    await guide.page.getByRole('link', { name: 'Link to Cancel' }).click();
    expect(guide.page.url()).toBe(`${origin}/docs/five-minutes-rest#cancel`);
    expect(await guide.page.locator('body.loaded').count()).toBe(1); // the page is not loaded again
  });
});

test.each(['/docs/nope', '/docs/errors/nope', '/docs/much/too/deep/a/path'])(
  'at %s a person finds a page that leads on',
  async (path) => {
    await using lost = await visit(path);
    await lost.page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await lost.page.getByRole('button', { name: 'Search' }).click();
    await lost.page.getByRole('searchbox').fill('cancel');
    await lost.page.getByRole('dialog').getByRole('link').first().click();
    await lost.page.waitForURL(`${origin}/docs**`);
  },
);

describe('colours', () => {
  let reader: WatchedPage;
  beforeAll(async () => {
    reader = await visit('/docs/errors');
  });
  afterAll(() => reader[Symbol.asyncDispose]());

  test.each([
    ['/docs/errors', 'light', false],
    ['/docs/errors', 'dark', true],
    ['/docs', 'light', false],
    ['/docs', 'dark', true],
  ] as const)('%s follows a system that is %s', async (path, colorScheme, dark) => {
    await reader.page.emulateMedia({ colorScheme });
    await reader.page.goto(origin + path);
    await eventually(() => isDark(reader.page)).toBe(dark);
  });
});
