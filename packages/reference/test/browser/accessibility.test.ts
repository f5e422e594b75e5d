import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from '@petstore/testing/chromium';
import type Axe from 'axe-core';
import { describe, expect, test } from 'vitest';
import { GUIDE_PATHS } from '../support/pages.ts';
import { PHONE, useSiteBrowser } from '../support/site-browser.ts';

const { origin, visit } = await useSiteBrowser();
const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** What axe finds by its rules, and by the one for targets of 24 px. */
async function violationsOf(page: Page, options: Axe.RunOptions = {}): Promise<unknown[]> {
  return page.evaluate(async (given) => {
    const { axe: checker } = globalThis as unknown as { axe: typeof Axe }; // its script has been loaded
    const { violations } = await checker.run({ resultTypes: ['violations'], ...given });
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(' '))]);
  }, options);
}

const EVERY_RULE: Axe.RunOptions = { rules: { 'target-size': { enabled: true } } };
/** The pages of error codes are of two forms: with a response, and of tRPC only. */
const ERROR_FORMS = ['/docs/errors/order_already_shipped', '/docs/errors/insufficient_scope'];
/** The rules that the colours of a page decide. */
const COLOUR_RULES: Axe.RunOptions = { runOnly: ['color-contrast', 'link-in-text-block'] };

const SIZES = { desktop: { width: 1280, height: 720 }, phone: PHONE.viewport };

test('axe finds nothing to object to on any page, light or dark, on a desktop or a phone', async () => {
  // The checker is loaded into pages, whose policy would not let it.
  await using reader = await visit('/docs', { bypassCSP: true });
  const { page } = reader;
  await page.addInitScript(axe);
  const found: Record<string, unknown[]> = {};
  const check = async (name: string) => {
    for (const [device, size] of Object.entries(SIZES)) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: 'light' });
      found[`${name} on a ${device}, light`] = await violationsOf(page, EVERY_RULE);
      await page.emulateMedia({ colorScheme: 'dark' });
      found[`${name} on a ${device}, dark`] = await violationsOf(page, COLOUR_RULES);
    }
  };
  for (const path of ['/docs', '/docs/v2', ...GUIDE_PATHS, ...ERROR_FORMS, '/docs/nope']) {
    await page.goto(origin + path);
    for (const button of await page.getByRole('button', { name: /^Try it/ }).all()) await button.click();
    await check(path);
  }
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('searchbox').fill('order');
  await page.getByRole('dialog').getByRole('link').first().waitFor();
  await check('search');
  expect(Object.entries(found).filter(([, violations]) => violations.length > 0)).toEqual([]);
});

describe('with the keyboard', () => {
  test.each(['/docs', '/docs/limits', '/docs/errors'])(
    'the first Tab on %s offers to skip to the text',
    async (path) => {
      await using reader = await visit(path);
      const { page } = reader;
      const focused = () => page.evaluate(() => document.activeElement?.textContent);
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to the text');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
    },
  );

  test('an operation is called without a mouse', async () => {
    await using reader = await visit('/docs#cancelOrder');
    const { page } = reader;
    await page.getByRole('button', { name: 'Try it: Cancel an order' }).focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-key'))).toBe(true);
    await page.keyboard.type('a-key');
    await page.keyboard.press('Tab'); // where keys come from
    await page.keyboard.press('Tab');
    await page.keyboard.type('7');
    const request = page.waitForRequest('**/v1/store/orders/7');
    await page.keyboard.press('Enter');
    expect((await request).method()).toBe('DELETE');
  });

  test('the focus stays where it is when an operation is sent', async () => {
    await using reader = await visit('/docs#listOrders');
    const { page } = reader;
    const form = page.getByRole('form', { name: 'Try it: List all orders' });
    await page.getByRole('button', { name: 'Try it: List all orders' }).click();
    const send = form.getByRole('button', { name: 'Send GET' });
    await send.focus();
    await page.keyboard.press('Enter');
    await form.getByText(/^404 /).waitFor(); // the site has no API
    expect(await send.evaluate((button) => button === document.activeElement)).toBe(true);
  });
});

test.each([
  ['/docs', PHONE],
  ['/docs', {}],
  ['/docs/errors', {}],
] as const)('on %s whatever is pressed, links in sentences aside, is 24 px high and wide', async (path, options) => {
  await using reader = await visit(path, options);
  const { page } = reader;
  for (const button of await page.getByRole('button', { name: /^Try it/ }).all()) await button.click();
  const small = await page.locator('button, summary, select, input, nav a, .codes a, .cards a').evaluateAll((all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => ({ name: one.outerHTML.slice(0, 80), ...one.getBoundingClientRect().toJSON() }))
      .filter(({ width, height }) => width < 24 || height < 24),
  );
  expect(small).toEqual([]);
});

test('codes that are links have no line below that would hide their underscores', async () => {
  await using reader = await visit('/docs/errors');
  const lines = await reader.page
    .locator('main a:has(> code)')
    .evaluateAll((links) => links.map((link) => getComputedStyle(link).textDecorationLine));
  expect(lines.length).toBeGreaterThan(20);
  expect(new Set(lines)).toEqual(new Set(['none']));
});

test.each(['/docs', '/docs/limits'])('%s is printed black on white, as text alone, with whole lines', async (path) => {
  await using reader = await visit(path, { colorScheme: 'dark' });
  const { page } = reader;
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const colours = await page.evaluate(() => {
    const { backgroundColor, color } = getComputedStyle(document.body);
    return { backgroundColor, color };
  });
  expect(colours).toEqual({ backgroundColor: 'rgb(255, 255, 255)', color: 'rgb(0, 0, 0)' });
  expect(
    await page.locator('header, aside, button').evaluateAll((all) => all.filter((one) => one.checkVisibility())),
  ).toEqual([]);
  const cut = await page
    .locator('main pre')
    .evaluateAll((blocks) =>
      blocks.filter((pre) => pre.scrollWidth > pre.clientWidth || pre.scrollHeight > pre.clientHeight),
    );
  expect(cut).toEqual([]);
});
