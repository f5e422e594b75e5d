import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** The folder in which the test command unpacks a Redis server, on a machine that has none: `tooling/test`. */
export const UNPACKED_REDIS_FOLDER: string = resolve(import.meta.dirname, '../../../../node_modules/.cache/redis');

/** In that folder, starts the server with the libraries that were unpacked with it. */
export const REDIS_STARTER = 'start-redis-server';

/**
 * The first program with one of the names on PATH; a name with a slash is a path.
 *
 * @param moreFolders where to look as well
 */
export function findExecutable(names: readonly string[], moreFolders: readonly string[] = []): string | undefined {
  // biome-ignore lint/style/noProcessEnv: PATH belongs to the machine, and is no setting of ours
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...moreFolders];
  const pathsOf = (name: string) => (name.includes('/') ? [name] : folders.map((folder) => join(folder, name)));
  return names.flatMap(pathsOf).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
