import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Actor, actor } from '@petstore/domain';
import type { Environment } from '@petstore/runtime';
import { CommanderError } from 'commander';
import type { CommandContext } from './context.ts';
import { ImportRejectedError, UsageError } from './errors.ts';
import { Interruption } from './interruption.ts';
import { createOutput, type Output, type OutputStreams, ReaderGoneError } from './output.ts';
import { createProgram } from './program.ts';
import { openSession, type Session } from './session.ts';

export interface Invocation extends OutputStreams {
  /** Those after the name of the program. */
  readonly arguments: readonly string[];
  readonly environment: Environment;
  readonly workingFolder: string;
  /** The root of the workspace. */
  readonly checkout: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Takes what is to be called for each signal that ends the program: it returns whether the process ends at once. */
  readonly onSignal?: (receive: () => boolean) => void;
}

/** Done, failed, or called wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Runs one command. Never throws: every failure is reported on standard error. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const output = createOutput(invocation);
  const interruption = new Interruption(output);
  try {
    await runCommand(invocation, createContext(invocation, output, interruption));
    return 0;
  } catch (error) {
    return await reportError(error, output, interruption);
  }
}

async function runCommand(invocation: Invocation, context: CommandContext): Promise<void> {
  let help = '';
  const program = createProgram(context, {
    writeHelp(text) {
      help += text;
    },
    writeUsage: (text) => void invocation.stderr.write(text),
  });
  try {
    await program.parseAsync(invocation.arguments, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
    await context.output.write(help);
  }
}

function createContext(invocation: Invocation, output: Output, interruption: Interruption): CommandContext {
  const { environment, workingFolder, stdin, onSignal } = invocation;
  onSignal?.(() => interruption.receive());
  const withUnpreparedSession: CommandContext['withUnpreparedSession'] = async (work, options = {}) => {
    const { readStorageSettings } = await import('@petstore/runtime/settings');
    const settings = readStorageSettings(environment, findHome(invocation));
    // Now, because files may have been replaced by the time that a long command fails.
    await import('./failures.ts');
    await using session: Session = await openSession(settings, options, output);
    return await work(session);
  };
  return {
    output,
    interruption,
    stdin,
    userFolder: workingFolder,
    clock: () => new Date(),
    randomBytes,
    operator: findOperator,
    withUnpreparedSession,
    withSession: (work, options) =>
      withUnpreparedSession(async (session) => {
        const { migrations } = session.persistence;
        await (session.settings.migrate ? migrations.migrate() : migrations.assertMigrated());
        return work(session);
      }, options),
  };
}

/**
 * What DATA_DIR is relative to. Where it is not set, and no server was started in this folder, the data is that of the
 * checkout.
 */
function findHome({ environment, workingFolder, checkout }: Invocation): string {
  const isHere = Boolean(environment['DATA_DIR']?.trim()) || existsSync(join(workingFolder, '.data'));
  return isHere ? workingFolder : checkout;
}

/** A container may run as a user that has no name. */
function findOperator(): Actor {
  try {
    return actor('operator', userInfo().username);
  } catch {
    return actor('operator', `uid ${process.getuid?.()}`);
  }
}

async function reportError(error: unknown, output: Output, interruption: Interruption): Promise<ExitCode> {
  if (error instanceof CommanderError) return 2; // commander has printed what is wrong
  if (error instanceof ReaderGoneError) return 0;
  if (error instanceof ImportRejectedError) return 1; // its report has been printed
  if (error instanceof UsageError) {
    output.message(`petstore: ${error.message}`);
    return 2;
  }
  const { describeFailure, isWrongSetting } = await import('./failures.ts');
  output.message(`petstore: ${describeFailure(error, interruption)}`);
  return isWrongSetting(error) ? 2 : 1;
}
