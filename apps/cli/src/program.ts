import { Command } from 'commander';
import { addKeysCommands } from './commands/keys.ts';
import { addLimitsCommands } from './commands/limits.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addOrdersCommands } from './commands/orders.ts';
import { addPetsCommands } from './commands/pets.ts';
import type { CommandContext } from './context.ts';

/** Where the parser of arguments puts what it prints by itself. */
export interface ParserOutput {
  readonly writeHelp: (text: string) => void;
  readonly writeUsage: (text: string) => void;
}

/** The command line: one file per group of commands. */
export function createProgram(context: CommandContext, { writeHelp, writeUsage }: ParserOutput): Command {
  const program = new Command('petstore')
    .description('Operate the orders service. Reads the same settings as the server.')
    .showHelpAfterError('(--help tells more)')
    .exitOverride()
    .configureOutput({
      writeOut: writeHelp,
      writeErr: writeUsage,
      outputError: (text, write) => write(text.replace(/^error: /, 'petstore: ')), // as all our errors begin
    });
  addKeysCommands(program, context);
  addLimitsCommands(program, context);
  addOrdersCommands(program, context);
  addPetsCommands(program, context);
  addMigrateCommand(program, context);
  return program;
}
