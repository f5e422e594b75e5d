import { execFileSync } from 'node:child_process';
import { chmodSync, globSync, writeFileSync } from 'node:fs';
import { findExecutable, findRedis, UNPACKED_REDIS, UNPACKED_REDIS_FOLDER } from '@petstore/testing/find-executable';
import { unpackPackages } from './debian.ts';

/** The server, and of what it needs the part that few machines have. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'];

const INSTRUCTION =
  'The tests need redis-server or valkey-server, and this machine has neither.\n' +
  'Install one: "sudo apt-get install redis-server" (Debian, Ubuntu), "sudo dnf install valkey" (Fedora), ' +
  '"brew install redis" (macOS).';

/**
 * Makes sure that there is a Redis or Valkey server to test with. On a machine that has none Debian's is unpacked below
 * `node_modules/.cache`, if there is apt-get; nothing else on the machine changes.
 *
 * @returns a message for the user if there is none
 */
export function ensureRedis(): string | undefined {
  if (findRedis() !== undefined) return undefined;
  if (findExecutable('apt-get') === undefined) return INSTRUCTION;
  console.error('This machine has no Redis server: unpacking one of Debian into node_modules/.cache/redis.');
  if (!unpackPackages(PACKAGES, UNPACKED_REDIS_FOLDER)) return INSTRUCTION;
  const [libraries = 'usr/lib'] = globSync('usr/lib/*-linux-*', { cwd: UNPACKED_REDIS_FOLDER });
  const start = `LD_LIBRARY_PATH="$here/${libraries}" exec "$here/usr/bin/redis-server" "$@"`;
  writeFileSync(UNPACKED_REDIS, `#!/bin/sh\nhere=$(dirname "$0")\n${start}\n`);
  chmodSync(UNPACKED_REDIS, 0o755);
  try {
    execFileSync(UNPACKED_REDIS, ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] });
    return undefined;
  } catch {
    return INSTRUCTION; // a library is missing, as the line above says
  }
}
