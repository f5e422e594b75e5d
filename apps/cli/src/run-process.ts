import { type Environment, watchLaunchers } from '@petstore/runtime';
import { openStandardOutput } from './output.ts';
import { run } from './run.ts';

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Runs the command with which this process was started, and sets its exit code.
 *
 * @param checkout the root of the workspace, if there is one
 */
export async function runProcess(environment: Environment, checkout = process.cwd()): Promise<void> {
  process.exitCode = await run({
    arguments: process.argv.slice(2),
    environment,
    workingFolder: process.cwd(),
    checkout,
    stdin: process.stdin,
    stdout: openStandardOutput(),
    stderr: process.stderr,
    onSignal(receive) {
      const end = (code: number) => receive() && process.exit(code);
      for (const [signal, code] of Object.entries(EXIT_CODES)) process.on(signal, () => end(code));
      watchLaunchers(environment, () => end(EXIT_CODES.SIGTERM));
    },
  });
}
