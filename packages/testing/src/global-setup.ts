import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import type { PostgresCluster } from './server-programs.ts';

const PROGRAM = fileURLToPath(new URL('./shared-servers.ts', import.meta.url));

/** The servers that the test files of a run share. Passed to them by vitest's `provide`. */
export interface SharedServers {
  /** Superuser, database `postgres`. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** What private PostgreSQL servers are copied from; it has never run. */
  readonly seed: PostgresCluster;
  /** Removed when the run ends, with every process that is named in `processFolder`. */
  readonly temporaryFolder: string;
  /** Holds one empty file per process that must not outlive the run, named by its pid. */
  readonly processFolder: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly sharedServers: SharedServers;
  }
}

/**
 * Starts one PostgreSQL and one Redis for a run of vitest, and ends them with it.
 *
 * @throws Error when either cannot run; no test is skipped for want of a server
 */
export default async function startTestServers(project: TestProject): Promise<() => Promise<void>> {
  // Detached, so that Ctrl-C does not reach it: it ends when it is disconnected, however this process ends.
  const program = fork(PROGRAM, { detached: true });
  const exit = once(program, 'exit');
  const [servers] = await Promise.race([once(program, 'message'), exit.then(() => [])]);
  if (servers === undefined) throw new Error('The test servers did not start, for the reason above.');
  project.provide('sharedServers', servers);
  return async () => {
    program.disconnect();
    await exit;
  };
}
