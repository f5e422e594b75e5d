import { describeFailure, type ExitCode, type Failure } from './failure.ts';

/** What runs until it is closed. */
export interface RunningServer {
  /** Ends everything in order: not ready, what was sent is answered, the port closes, then the databases. */
  close(): Promise<void>;
}

/** By then everything ought to have ended. Embedded servers that have not are then stopped by their guards. */
const SHUTDOWN_DEADLINE_MS = 9_000;

/** The end of the process: `undefined` where it was asked for, else why nothing can go on. */
export type End = PromiseWithResolvers<Error | undefined>;

/** Makes an end that comes, too, when something fails that nobody awaits. Whoever is told to stop resolves it. */
export function watchForEnd(): End {
  const end: End = Promise.withResolvers();
  process.on('uncaughtException', end.resolve);
  process.on('unhandledRejection', (reason) => end.resolve(toError(reason)));
  // That nobody reads our output any more is no reason to break off.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  // Counts from the end, even where the start has not come to its own.
  void end.promise.then(() => setTimeout(() => process.exit(1), SHUTDOWN_DEADLINE_MS).unref());
  return end;
}

const toError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** Starts a server, and closes it when its end has come. @param tell hears of each failure */
export async function runUntilEnded(
  end: Promise<Error | undefined>,
  start: () => Promise<RunningServer>,
  tell: (failure: Failure) => Promise<void> | void,
): Promise<ExitCode> {
  try {
    const server = await start();
    const error = await end;
    const failure = error && describeFailure(error);
    if (failure !== undefined) await tell(failure);
    await server.close();
    return failure?.exitCode ?? 0;
  } catch (error) {
    const failure = describeFailure(error);
    await tell(failure);
    return failure.exitCode;
  }
}
