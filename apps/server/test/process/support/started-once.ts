import { execFileSync } from 'node:child_process';
import { beforeAll } from 'vitest';
import { SpawnedServer, useDataFolder } from './spawned-server.ts';

/**
 * For the tests of a file: the data folder of a server that was started once and has ended, so that none but a test of
 * the first start needs to wait for one.
 *
 * @returns makes a copy, with the demo keys in it
 */
export function useStartedDataFolder(): () => ReturnType<typeof useDataFolder> {
  const original = useDataFolder();
  beforeAll(async () => {
    await using server = new SpawnedServer(original.path);
    await server.url();
    return () => original[Symbol.dispose]();
  });
  return () => {
    const copy = useDataFolder();
    execFileSync('cp', ['-a', original.path, copy.path]); // -a, because the files of PostgreSQL may be another user's
    return copy;
  };
}
