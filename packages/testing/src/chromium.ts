import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { CHROMIUM_PROGRAMS, findExecutable } from './find-executable.ts';

export type { Browser, BrowserContextOptions, Page };

/** Limits the browser to the pages of the test: no updates, no sync, no look-ups of its own. */
const ARGUMENTS = [
  '--no-sandbox', // the sandbox refuses to run as root, as tests often do
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let browser: Promise<Browser> | undefined;

/**
 * This machine's Chromium or Chrome, without a window. All test files of a process share it, because a start takes more
 * than a second of processor time. Each file opens contexts of its own, and closes them. The browser ends with the process.
 *
 * @throws Error if there is none; no test is skipped because a browser is missing
 */
export function openChromium(): Promise<Browser> {
  browser ??= launchChromium(() => {
    browser = undefined;
  });
  return browser;
}

/** @param onEnd called if it could not be started or has crashed: the next file starts another */
async function launchChromium(onEnd: () => void): Promise<Browser> {
  const executablePath = findExecutable(...CHROMIUM_PROGRAMS);
  if (executablePath === undefined) {
    throw new Error(
      'The tests of web pages need Chromium or Chrome, and this machine has neither. ' +
        'Install one: apt-get install chromium-headless-shell (Debian), brew install --cask chromium (macOS).',
    );
  }
  try {
    const launched = await chromium.launch({ executablePath, args: ARGUMENTS });
    return launched.on('disconnected', onEnd);
  } catch (error) {
    onEnd();
    throw error;
  }
}

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Forbidden actions of a page: loading from elsewhere, violating its policy, logging an error, failing. */
  readonly offences: readonly string[];
}

/** Opens a page with storage and cookies of its own. @param url absolute; requests to other origins are offences */
export async function openWatchedPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const { origin } = new URL(url);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const offences: string[] = [];
  context.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) {
      offences.push(`asked for ${request.url()}`);
    }
  });
  context.on('requestfailed', (request) => {
    // Leaving a page aborts its loading requests.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') offences.push(`no response from ${request.url()}`);
  });
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) offences.push(message.text());
  });
  context.on('weberror', (error) => void offences.push(error.error().message));
  try {
    const page = await context.newPage();
    await page.goto(url);
    return { page, offences, [Symbol.asyncDispose]: () => context.close() };
  } catch (error) {
    await context.close();
    throw error;
  }
}
