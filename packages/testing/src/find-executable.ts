import { join } from 'node:path';
import { findExecutable as find, REDIS_STARTER, UNPACKED_REDIS_FOLDER } from '@petstore/runtime/servers';

export { REDIS_STARTER, UNPACKED_REDIS_FOLDER } from '@petstore/runtime/servers';

/** Folders that the PATH of a service often lacks. */
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];

/** The first program with one of the names on PATH or in the usual folders; a name with a slash is a path. */
export const findExecutable = (...names: readonly string[]): string | undefined => find(names, USUAL_FOLDERS);

/** Chromium or Chrome. The headless shell, which has no window at all, takes half the browser's processor time. */
export const CHROMIUM_PROGRAMS: readonly string[] = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The server to test with: PETSTORE_TEST_REDIS, else the machine's Redis, else the unpacked one, else the machine's Valkey. */
export function findRedis(): string | undefined {
  // biome-ignore lint/style/noProcessEnv: a run's choice, which reaches this process however it is started
  const chosen = process.env['PETSTORE_TEST_REDIS'] || undefined;
  return chosen ?? findExecutable('redis-server', join(UNPACKED_REDIS_FOLDER, REDIS_STARTER), 'valkey-server');
}
