import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from '@petstore/testing/chromium';
import type Axe from 'axe-core';
import { GUIDE_PATHS } from './pages.ts';
import { PHONE, type SiteBrowser } from './site-browser.ts';

/** What axe finds by its rules, and by the one for targets of 24 px. */
async function violationsOf(page: Page, options: Axe.RunOptions): Promise<unknown[]> {
  return page.evaluate(async (given) => {
    const { axe: checker } = globalThis as unknown as { axe: typeof Axe }; // its script has been loaded
    const { violations } = await checker.run({ resultTypes: ['violations'], ...given });
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(' '))]);
  }, options);
}

/** The pages of error codes are of two forms: with a response, and of tRPC only. */
const ERROR_FORMS = ['/docs/errors/order_already_shipped', '/docs/errors/insufficient_scope'];

const SIZES = { desktop: { width: 1280, height: 720 }, phone: PHONE.viewport };

const OPTIONS = {
  light: { rules: { 'target-size': { enabled: true } } },
  // The rules that the colours of a page decide: what is where does not depend on them.
  dark: { runOnly: ['color-contrast', 'link-in-text-block'] },
} satisfies Record<'light' | 'dark', Axe.RunOptions>;

/**
 * Has axe check every page on a desktop and a phone, consoles and search open. A test of each scheme stands in a file of
 * its own, so that they run side by side.
 *
 * @returns what it finds, by page; nothing where all is well
 */
export async function checkByAxe({ origin, visit }: SiteBrowser, colorScheme: 'light' | 'dark'): Promise<unknown[]> {
  const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
  // The checker is loaded into pages, whose policy would not let it.
  await using reader = await visit('/docs', { bypassCSP: true, colorScheme });
  const { page } = reader;
  await page.addInitScript(axe);
  const found: Record<string, unknown[]> = {};
  const check = async (name: string) => {
    for (const [device, size] of Object.entries(SIZES)) {
      await page.setViewportSize(size);
      found[`${name} on a ${device}`] = await violationsOf(page, OPTIONS[colorScheme]);
    }
  };
  for (const path of ['/docs', '/docs/v2', ...GUIDE_PATHS, ...ERROR_FORMS, '/docs/nope']) {
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
  return Object.entries(found).filter(([, violations]) => violations.length > 0);
}
