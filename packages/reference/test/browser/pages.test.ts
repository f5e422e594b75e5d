import type { Page } from '@petstore/testing/chromium';
import { describe, expect, test } from 'vitest';
import { ERROR_PATHS, GUIDE_PATHS } from '../support/pages.ts';
import { eventually, PHONE, useSiteBrowser, waitForReference, widthOf } from '../support/site-browser.ts';

const { origin, visit, visitReference } = await useSiteBrowser();

const isDark = (page: Page) =>
  page.evaluate(() => {
    const [red = 255] = getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? [];
    return Number(red) < 64;
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
    await reference.page.getByRole('heading', { name: 'Petstore Orders, v2 preview' }).first().waitFor();
    await header.getByRole('link', { name: 'Reference', exact: true }).click();
    await waitForReference(reference.page);
  });
});

test.each(['/docs/five-minutes-rest', '/docs/authentication'])(
  'the commands of %s name the installation that shows them',
  async (path) => {
    await using guide = await visit(path);
    const commands = guide.page.locator('main pre', { hasText: `${origin}/v1/store/orders` });
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
    await waitForReference(guide.page);
    await eventually(() => isDark(guide.page)).toBe(true);
    await guide.page.getByRole('button', { name: 'Dark mode' }).click();
    await eventually(() => isDark(guide.page)).toBe(false);
  });
});
