import {
  type BrowserContextOptions,
  launchChromium,
  openWatchedPage,
  type Page,
  type WatchedPage,
} from '@petstore/testing/chromium';
import { afterAll, expect, vi } from 'vitest';
import { startSiteServer } from './site-server.ts';

// One site and one browser for all tests of a file; each test opens a page with storage and cookies of its own.

// Longer than the browser's own 30 s, so that the browser reports what failed to load.
vi.setConfig({ testTimeout: 90_000 });

const site = await startSiteServer();
const browser = await launchChromium();
afterAll(async () => {
  await browser.close();
  await site[Symbol.asyncDispose]();
});

export const { origin } = site;

export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

export const visit = (path: string, options?: BrowserContextOptions): Promise<WatchedPage> =>
  openWatchedPage(browser, origin + path, options);

/** A visit to the reference of v1, once it shows its operations. */
export async function visitReference(path = '/docs', options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const reference = await visit(path, options);
  await waitForReference(reference.page);
  return reference;
}

export const waitForReference = (page: Page): Promise<void> =>
  page.getByRole('heading', { name: 'List all orders' }).waitFor({ state: 'attached' });

/** Call it before leaving a page whose offences are checked: a request that leaving aborts would be one. */
export const waitUntilLoaded = (page: Page): Promise<void> => page.waitForLoadState('networkidle');

/** A page whose requests are not watched, so that a test can respond to them itself. */
export const openPage = (): Promise<Page> => browser.newPage();

/** Polls what the page is about to show. */
export const eventually = <Value>(read: () => Value) => expect.poll(read, { timeout: 25_000 });

export const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
