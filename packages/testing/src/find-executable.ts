import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** Folders that the PATH of a service often lacks. */
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];

/** The first program with one of the names on PATH or in the usual folders. */
export function findExecutable(...names: readonly string[]): string | undefined {
  // biome-ignore lint/style/noProcessEnv: PATH belongs to the machine, and is no setting of ours
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The folder in which the test command keeps a Redis server of its own, on a machine that has none: `tooling/test`. */
export const UNPACKED_REDIS_FOLDER: string = resolve(import.meta.dirname, '../../../node_modules/.cache/redis');

/** Starts the unpacked server with the libraries that were unpacked beside it. */
export const UNPACKED_REDIS: string = join(UNPACKED_REDIS_FOLDER, 'start-redis-server');

/** The Redis or Valkey server to test with: PETSTORE_TEST_REDIS, else that of the machine, else the unpacked one. */
export function findRedis(): string | undefined {
  // biome-ignore lint/style/noProcessEnv: a run's choice, which reaches this process however it is started
  const chosen = process.env['PETSTORE_TEST_REDIS'] || undefined;
  const unpacked = isExecutable(UNPACKED_REDIS) ? UNPACKED_REDIS : undefined;
  return chosen ?? findExecutable('redis-server', 'valkey-server') ?? unpacked;
}
