import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Environment } from '@petstore/runtime';
import { CommanderError } from 'commander';
import type { CommandContext } from './context.ts';
import { ReportedError, UsageError } from './errors.ts';
import { Interruption } from './interruption.ts';
import { Output, type OutputStreams, ReaderGoneError } from './output.ts';
import { createProgram } from './program.ts';
import { runOnSession } from './session.ts';

export interface Invocation extends OutputStreams {
  /** The arguments after the name of the program. */
  readonly arguments: readonly string[];
  readonly environment: Environment;
  readonly workingFolder: string;
  /** The root of the workspace. */
  readonly checkout: string;
  readonly stdin: Readable;
  /** Registers a function for each signal that ends the program. It returns whether the process ends at once. */
  readonly onSignal?: (receive: () => boolean) => void;
}

/** 0 done, 1 failed, 2 called wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Runs one command. Never throws: every failure is reported on standard error. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { environment, workingFolder, stdin } = invocation;
  const output = new Output(invocation);
  const interruption = new Interruption(output);
  invocation.onSignal?.(() => interruption.receiveSignal());
  const context: CommandContext = {
    environment,
    output,
    interruption,
    stdin,
    userFolder: workingFolder,
    withSession(work, options) {
      const message = (text: string) => output.message(text);
      return runOnSession({ environment, home: findHome(invocation), message }, work, options);
    },
  };
  try {
    await runCommand(invocation, context);
    return 0;
  } catch (error) {
    return await reportError(error, context);
  } finally {
    output.endProgress();
  }
}

async function runCommand(invocation: Invocation, context: CommandContext): Promise<void> {
  let help = '';
  const program = createProgram(context, {
    writeOut(text) {
      help += text;
    },
    writeErr: (text) => void invocation.stderr.write(text),
  });
  try {
    await program.parseAsync(withHelpInside(invocation.arguments), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
    await context.output.write(help);
  }
}

/** `help orders import` becomes `orders help import`: commander's `help` takes one word, and passes over the others. */
const withHelpInside = (words: readonly string[]): readonly string[] =>
  words[0] === 'help' && words.length > 2 ? words.slice(1).toSpliced(-1, 0, 'help') : words;

/**
 * The folder to which DATA_DIR is relative. If DATA_DIR is not set, and no server was started in this folder, the
 * checkout's data is used.
 */
function findHome({ environment, workingFolder, checkout }: Invocation): string {
  const isHere = Boolean(environment['DATA_DIR']?.trim()) || existsSync(join(workingFolder, '.data'));
  return isHere ? workingFolder : checkout;
}

async function reportError(error: unknown, { output, interruption }: CommandContext): Promise<ExitCode> {
  if (error instanceof CommanderError) return 2; // commander has printed what is wrong
  if (error instanceof ReaderGoneError) return 0;
  if (error instanceof ReportedError) return 1;
  if (error instanceof UsageError) {
    output.message(`petstore: ${error.message}`);
    return 2;
  }
  const { describeFailure, isWrongSetting } = await import('./failures.ts');
  output.message(`petstore: ${describeFailure(error, interruption)}`);
  return isWrongSetting(error) ? 2 : 1;
}
