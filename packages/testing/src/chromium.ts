import { existsSync } from 'node:fs';
import { findExecutable } from '@petstore/runtime';
import { type Browser, chromium } from 'playwright-core';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const MACOS_PROGRAMS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Nothing but what a test opens: no updates, no sync, no look-ups of the browser's own. */
const ARGUMENTS = [
  '--no-sandbox', // the sandbox refuses to run as root, as tests often do
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Starts this machine's Chromium or Chrome, without a window. It ends with the process that started it.
 *
 * @throws Error when there is none; no test is skipped for want of a browser
 */
export function launchChromium(): Promise<Browser> {
  const executablePath = findExecutable(...PROGRAMS) ?? MACOS_PROGRAMS.find((program) => existsSync(program));
  if (executablePath === undefined) {
    throw new Error(
      'The tests of web pages need Chromium or Chrome, and this machine has neither. ' +
        'Install one: apt-get install chromium (Debian), brew install --cask chromium (macOS).',
    );
  }
  return chromium.launch({ executablePath, args: ARGUMENTS });
}
