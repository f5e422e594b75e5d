import { randomBytes } from 'node:crypto';
import { StorageUnavailableError } from '@petstore/domain';
import { SchemaError } from '@petstore/persistence';
import { type Environment, RuntimeError, readStorageSettings, SettingsError } from '@petstore/runtime';
import { CommanderError } from 'commander';
import { ImportRefused } from './commands/import-command.ts';
import type { CommandContext } from './context.ts';
import { CommandFailure, UsageError } from './failure.ts';
import { UnreadableInputError } from './import/text-chunks.ts';
import { createOutput, type Output, type OutputStreams, ReaderGoneError } from './output.ts';
import { createProgram } from './program.ts';
import { openSession, type Session } from './session.ts';

export interface Invocation extends OutputStreams {
  /** Behind the name of the program. */
  readonly arguments: readonly string[];
  readonly environment: Environment;
  readonly workingFolder: string;
  readonly stdin: AsyncIterable<Uint8Array>;
}

/** Done, failed, or asked for wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Runs one command. Never throws: whatever fails is told on standard error. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const output = createOutput(invocation);
  try {
    await runCommand(invocation, output);
    return 0;
  } catch (error) {
    return explain(error, output);
  }
}

async function runCommand(invocation: Invocation, output: Output): Promise<void> {
  let help = '';
  const program = createProgram(createContext(invocation, output), {
    writeHelp(text) {
      help += text;
    },
    writeUsage: (text) => void invocation.stderr.write(text),
  });
  try {
    await program.parseAsync(invocation.arguments, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
    await output.write(help); // which is all that was asked for
  }
}

function createContext(invocation: Invocation, output: Output): CommandContext {
  const { environment, workingFolder, stdin } = invocation;
  const withUnpreparedSession: CommandContext['withUnpreparedSession'] = async (work) => {
    await using session: Session = await openSession(readStorageSettings(environment, workingFolder));
    return await work(session);
  };
  return {
    output,
    stdin,
    userFolder: userFolderOf(environment, workingFolder),
    clock: () => new Date(),
    randomBytes,
    withUnpreparedSession,
    withSession: (work) =>
      withUnpreparedSession(async (session) => {
        await session.persistence.migrations.prepare({ mayMigrate: session.settings.migrate });
        return work(session);
      }),
  };
}

/** As a script of the workspace we are run in its root, and pnpm tells where the user is. */
function userFolderOf(environment: Environment, workingFolder: string): string {
  const isScript = environment['npm_lifecycle_event'] === 'petstore';
  return (isScript ? environment['INIT_CWD'] : undefined) ?? workingFolder;
}

function explain(error: unknown, { say }: Output): ExitCode {
  if (error instanceof CommanderError) return 2; // commander has said what is wrong
  if (error instanceof ReaderGoneError) return 0;
  if (error instanceof ImportRefused) return 1; // the report has said why
  if (error instanceof SettingsError || error instanceof UsageError) {
    say(`petstore: ${error.message}`);
    return 2;
  }
  say(isForeseen(error) ? `petstore: ${error.message}` : `petstore: ${describeUnforeseen(error)}`);
  return 1;
}

const FORESEEN = [CommandFailure, RuntimeError, SchemaError, StorageUnavailableError, UnreadableInputError];

const isForeseen = (error: unknown): error is Error => FORESEEN.some((kind) => error instanceof kind);

/** Nobody can mend these but us, so they come with all that is known. */
const describeUnforeseen = (error: unknown): string =>
  error instanceof Error ? `an unexpected failure: ${error.stack ?? error.message}` : `an unexpected failure: ${error}`;
