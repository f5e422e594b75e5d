import {
  type BrowserContextOptions,
  openChromium,
  openWatchedPage,
  type Page,
  type WatchedPage,
} from '@petstore/testing/chromium';
import { afterAll, expect, vi } from 'vitest';
import { startSiteServer } from './site.ts';

/** The site, and a browser that opens its pages. */
export interface SiteBrowser {
  readonly origin: string;
  /** Opens a page with storage and cookies of its own. */
  visit(path: string, options?: BrowserContextOptions): Promise<WatchedPage>;
}

/** Serves the site for the tests of a file, and opens its pages in a browser. */
export async function useSiteBrowser(): Promise<SiteBrowser> {
  // Longer than the browser's own 30 s, so that the browser reports what failed to load.
  vi.setConfig({ testTimeout: 90_000 });
  const site = await startSiteServer();
  const browser = await openChromium();
  afterAll(async () => {
    await site[Symbol.asyncDispose]();
    vi.resetConfig();
  });
  return {
    origin: site.origin,
    visit: (path, options) => openWatchedPage(browser, site.origin + path, options),
  };
}

export const PHONE = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
} satisfies BrowserContextOptions;

/** Polls what the page is about to show. */
export const eventually = <Value>(read: () => Value) => expect.poll(read, { timeout: 25_000 });

export const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
