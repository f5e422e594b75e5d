import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from '@petstore/testing/chromium';
import type Axe from 'axe-core';
import { describe, expect, test } from 'vitest';
import { PHONE, useSiteBrowser } from '../support/site-browser.ts';

const { origin, visit } = await useSiteBrowser();

/** A page of each kind. Those of error codes are of two: with a response, and of tRPC only. */
const KINDS = [
  '/docs',
  '/docs/v2',
  '/docs/limits',
  '/docs/errors',
  '/docs/errors/order_already_shipped',
  '/docs/errors/insufficient_scope',
  '/docs/nope',
];

const SIZES = { desktop: { width: 1280, height: 720 }, phone: PHONE.viewport };

/** What axe finds by its rules, and by the one for targets of 24 px. */
const violationsOf = (page: Page): Promise<unknown[]> =>
  page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { axe: typeof Axe }; // its script has been loaded
    const { violations } = await checker.run({
      resultTypes: ['violations'],
      rules: { 'target-size': { enabled: true } },
    });
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(' '))]);
  });

test.each(['light', 'dark'] as const)(
  'axe finds nothing to object to on any kind of page, %s, on a desktop or a phone',
  async (colorScheme) => {
    const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
    // The checker is loaded into pages, whose policy would not let it.
    await using reader = await visit('/docs', { bypassCSP: true, colorScheme });
    const { page } = reader;
    await page.addInitScript(axe);
    const check = async (name: string) => {
      for (const [device, size] of Object.entries(SIZES)) {
        await page.setViewportSize(size);
        expect.soft(await violationsOf(page), `${name} on a ${device}`).toEqual([]);
      }
    };
    for (const path of KINDS) {
      await page.goto(origin + path);
      // Axe judges no contrast before the shadows at the edges of what scrolls, which are pictures to it.
      await page.addStyleTag({ content: '.table, .text pre { background-image: none !important }' });
      for (const button of await page.getByRole('button', { name: /^Try it/ }).all()) await button.click();
      await check(path);
    }
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('order');
    await page.getByRole('dialog').getByRole('link').first().waitFor();
    await check('search');
  },
);

describe('with the keyboard', () => {
  test.each(['/docs', '/docs/limits'])('the first Tab on %s offers to skip to the text', async (path) => {
    await using reader = await visit(path);
    const { page } = reader;
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the text');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  });

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
