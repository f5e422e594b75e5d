import { execFileSync } from 'node:child_process';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable, findRedis, REDIS_STARTER, UNPACKED_REDIS_FOLDER } from '@petstore/testing/find-executable';
import { unpackPackages } from './debian.ts';

/** The server, and those of the libraries it needs that few machines have. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'];

const INSTRUCTION =
  'The tests need redis-server or valkey-server, and this machine has neither.\n' +
  'Install one: "sudo apt-get install redis-server" (Debian, Ubuntu), "sudo dnf install valkey" (Fedora), ' +
  '"brew install redis" (macOS).';

/**
 * Makes sure that there is a Redis or Valkey server to test with. On a machine that has none, but has apt-get and a network,
 * Debian's is unpacked below `node_modules/.cache`; nothing else on the machine changes.
 *
 * @returns a message for the user if there is none
 */
export function ensureRedis(): string | undefined {
  if (findRedis() !== undefined) return undefined;
  if (findExecutable('apt-get') === undefined) return INSTRUCTION;
  console.error('This machine has no Redis server: unpacking one of Debian into node_modules/.cache/redis.');
  return unpackRedis(UNPACKED_REDIS_FOLDER) ? undefined : INSTRUCTION;
}

/** Unpacks a Redis server into a folder that does not exist yet, with a program that starts it. @returns whether it runs */
export function unpackRedis(folder: string): boolean {
  return unpackPackages(PACKAGES, folder, (unpacked) => {
    const [libraries = 'usr/lib'] = globSync('usr/lib/*-linux-*', { cwd: unpacked });
    const start = `LD_LIBRARY_PATH="$here/${libraries}" exec "$here/usr/bin/redis-server" "$@"`;
    const starter = join(unpacked, REDIS_STARTER);
    writeFileSync(starter, `#!/bin/sh\nhere=$(dirname "$0")\n${start}\n`, { mode: 0o755 });
    try {
      execFileSync(starter, ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] });
      return true;
    } catch {
      return false; // a library is missing, as the line above says
    }
  });
}
