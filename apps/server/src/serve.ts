import { inspect } from 'node:util';
import { NewerDatabaseError } from '@petstore/persistence';
import { type Environment, RuntimeError, readSettings, SettingsError } from '@petstore/runtime';
import { startServer } from './compose.ts';
import { hideCredentials } from './operations/logger.ts';

/** By then everything ought to have ended. Embedded servers that have not are then stopped by their guards. */
const SHUTDOWN_DEADLINE_MS = 9_000;

/** Serves until a signal comes. @returns the exit code: 0 done, 1 failed, 2 wrong settings */
export async function serve(environment: Environment): Promise<0 | 1 | 2> {
  const ended = Promise.withResolvers<Error | undefined>();
  // For good: a second signal while shutting down must not end the process half-way.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.resolve(undefined));
  process.on('uncaughtException', ended.resolve);
  process.on('unhandledRejection', (reason) => ended.resolve(toError(reason)));
  // That nobody reads our output any more is no reason to break off.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  // Counts from the signal, even where the start has not come to its end.
  void ended.promise.then(() => setTimeout(() => process.exit(1), SHUTDOWN_DEADLINE_MS).unref());
  try {
    const settings = readSettings(environment, {
      workingFolder: process.cwd(),
      isTerminal: process.stdout.isTTY === true,
    });
    const server = await startServer(settings, { onFatal: ended.resolve });
    const failure = await ended.promise;
    if (failure !== undefined) explain(failure);
    await server.close();
    return failure === undefined ? 0 : 1;
  } catch (error) {
    return explain(error);
  }
}

const toError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** What a person can mend is one line; only what nobody foresaw comes with its stack. */
function explain(error: unknown): 1 | 2 {
  if (error instanceof SettingsError) {
    console.error(error.message);
    return 2;
  }
  const isForeseen = error instanceof RuntimeError || error instanceof NewerDatabaseError;
  console.error(isForeseen ? `petstore: ${error.message}` : hideCredentials(inspect(error)));
  return 1;
}
