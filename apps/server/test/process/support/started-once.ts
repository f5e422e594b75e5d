import { execFileSync } from 'node:child_process';
import { beforeAll } from 'vitest';
import { SpawnedServer, useDataFolder } from './spawned-server.ts';

/** The data folder of a first start. Made once for all files of this process, and removed when the test run ends. */
let started: Promise<string> | undefined;

async function startOnce(): Promise<string> {
  const { path } = useDataFolder();
  try {
    await using server = new SpawnedServer(path);
    await server.url();
    return path;
  } catch (error) {
    started = undefined; // the next file tries anew
    throw error;
  }
}

/**
 * Prepares a data folder whose server has been started and stopped, so that only tests of the first start have to wait for one.
 *
 * @returns a function that copies it
 */
export function useStartedDataFolder(): () => ReturnType<typeof useDataFolder> {
  let original: string;
  beforeAll(async () => {
    started ??= startOnce();
    original = await started;
  });
  return () => {
    const copy = useDataFolder();
    execFileSync('cp', ['-a', original, copy.path]); // -a, because the files of PostgreSQL may belong to another user
    return copy;
  };
}
