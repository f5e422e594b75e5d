import { inspect } from 'node:util';
import { SchemaError } from '@petstore/persistence';
import { type Environment, RuntimeError, watchLaunchers } from '@petstore/runtime';
import { SettingsError } from '@petstore/runtime/settings';
import { readSettings } from '../settings.ts';
import { wantsTracing } from '../tracing/load-tracing.ts';
import { hideCredentials } from './hide-credentials.ts';

/** 0 done, 1 failed, 2 wrong settings. */
export type ExitCode = 0 | 1 | 2;

/** How long an aborted start may continue after a signal, in milliseconds. The process then exits. */
const BREAK_OFF_MS = 9_000;

/**
 * How long before the end of SHUTDOWN_TIMEOUT the process exits, in milliseconds. Embedded servers that still run are told
 * to end when it exits.
 */
const EXIT_MARGIN_MS = 1_000;

/** Serves until a signal or a fatal error. Errors are printed on standard error. */
export async function runServer(environment: Environment): Promise<ExitCode> {
  const { promise: ended, resolve: end } = Promise.withResolvers<Error | undefined>();
  // The handlers stay: a second signal during the shutdown must not end the process half-way.
  const stopping = new AbortController();
  const stop = () => {
    end(undefined);
    stopping.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  watchLaunchers(environment, stop);
  process.on('uncaughtException', end);
  process.on('unhandledRejection', (reason) => end(reason instanceof Error ? reason : new Error(String(reason))));
  // A closed pipe or terminal must not stop the server.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  const report = (error: unknown) => reportEnd(error, environment);
  // The time is measured from the signal, even if the start has not finished.
  let deadlineMs = BREAK_OFF_MS;
  void ended.then(() => setTimeout(() => process.exit(1), deadlineMs).unref());
  try {
    const settings = readSettings(environment, {
      workingFolder: process.cwd(),
      isTerminal: process.stdout.isTTY === true,
    });
    const { shutdownTimeoutMs } = settings;
    deadlineMs = Math.max(shutdownTimeoutMs - EXIT_MARGIN_MS, shutdownTimeoutMs * 0.9);
    // Imported here: signals are obeyed while it loads.
    const { createLogger, logLibraryOutput } = await import('./logger.ts');
    const logger = await createLogger(settings);
    logLibraryOutput(logger);
    const { startServer } = await import('../compose.ts');
    const server = await startServer(settings, {
      logger,
      recordsSpans: wantsTracing(environment),
      onFatal: end,
      signal: stopping.signal,
    }).catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    });
    if (server === undefined) return 0; // the start was aborted
    const error = await ended;
    const exitCode = error === undefined ? 0 : report(error);
    await server.close();
    return exitCode;
  } catch (error) {
    return report(error);
  }
}

/** Prints one line for a fault that the operator can fix; only unexpected errors are printed with their stacks. */
function reportEnd(error: unknown, environment: Environment): ExitCode {
  const message = describeEnd(error);
  // Read directly, because the settings may be wrong.
  const isJson = environment['LOG_FORMAT'] === 'json';
  const line = JSON.stringify({ level: 'fatal', time: new Date().toISOString(), msg: message });
  process.stderr.write(`${isJson ? hideCredentials(line) : message}\n`);
  return error instanceof SettingsError ? 2 : 1;
}

function describeEnd(error: unknown): string {
  if (error instanceof SettingsError) return error.message;
  const isExpected = error instanceof RuntimeError || error instanceof SchemaError;
  return isExpected ? `petstore: ${error.message}` : hideCredentials(inspect(error));
}
