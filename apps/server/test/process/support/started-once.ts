import { execFileSync } from 'node:child_process';
import { beforeAll } from 'vitest';
import { SpawnedServer, useDataFolder } from './spawned-server.ts';

/**
 * Starts a server once for the tests of a file, and ends it, so that only tests of the first start have to wait for one.

 *
 * @returns copies its data folder
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
    execFileSync('cp', ['-a', original.path, copy.path]); // -a, because the files of PostgreSQL may belong to another user
    return copy;
  };
}
