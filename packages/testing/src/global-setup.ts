import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
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
  // Detached, so that Ctrl-C does not reach it: it ends when its standard input does, however this process ends.
  const program = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const exit = once(program, 'exit');
  let errors = '';
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const firstLine = once(createInterface(program.stdout), 'line');
  const line = await Promise.race([firstLine.then(([text]) => String(text)), exit.then(() => undefined)]);
  if (line === undefined) throw new Error(`The test servers did not start.\n${errors.trim()}`);
  const servers: SharedServers = JSON.parse(line);
  project.provide('sharedServers', servers);
  return async () => {
    program.stdin.end();
    await exit;
    if (errors !== '') console.error(errors.trim());
  };
}
