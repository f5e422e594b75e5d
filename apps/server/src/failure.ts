import { inspect } from 'node:util';
import { RuntimeError, SettingsError } from '@petstore/runtime';
import { hideCredentials } from './operations/logger.ts';

/** How the process ends: 0 done, 1 failed, 2 wrong settings. */
export type ExitCode = 0 | 1 | 2;

/** Why the process ends before its time. */
export interface Failure {
  /** For the person who started it. */
  readonly text: string;
  readonly exitCode: Exclude<ExitCode, 0>;
}

/** A failure of another process of this server, as that one told it. */
export class ProcessFailure extends Error {
  override readonly name = 'ProcessFailure';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.text);
    this.failure = failure;
  }
}

/** What a person can mend is one line; only what nobody foresaw comes with its stack. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof ProcessFailure) return error.failure;
  if (error instanceof SettingsError) return { text: error.message, exitCode: 2 };
  const text = error instanceof RuntimeError ? `petstore: ${error.message}` : hideCredentials(inspect(error));
  return { text, exitCode: 1 };
}
