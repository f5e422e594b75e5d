import { type Environment, readSettings, type Settings } from '@petstore/runtime';
import type { ExitCode } from './failure.ts';
import { runUntilEnded, watchForEnd } from './run-until-ended.ts';

/** The argument of a process that a supervisor has started, and its number. */
const PROCESS_ARGUMENT = /^process-([1-9]\d?)$/;

/**
 * Serves until a signal comes, alone or by processes that it starts; or as one of these.
 *
 * @param argument of the command line. Only a supervisor gives one
 */
export async function serve(environment: Environment, argument = ''): Promise<ExitCode> {
  const number = PROCESS_ARGUMENT.exec(argument)?.[1];
  if (number !== undefined && process.connected) {
    const { serveAsOneOfSeveral } = await import('./processes/one-of-several.ts');
    return serveAsOneOfSeveral(readSettingsFrom(environment), Number(number));
  }
  const end = watchForEnd();
  // For good: a second signal while shutting down must not end the process half-way.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end.resolve(undefined));
  return runUntilEnded(
    end.promise,
    async () => {
      const settings = readSettingsFrom(environment);
      // A process that serves alone loads nothing about others, and one that supervises nothing that serves.
      const { startServer } =
        settings.processes === 1 ? await import('./compose.ts') : await import('./processes/supervisor.ts');
      return startServer(settings, { onFatal: end.resolve });
    },
    ({ text }) => console.error(text),
  );
}

const readSettingsFrom = (environment: Environment): Settings =>
  readSettings(environment, { workingFolder: process.cwd(), isTerminal: process.stdout.isTTY === true });
