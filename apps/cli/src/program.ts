import { Command } from 'commander';
import { addKeysCommands } from './commands/keys.ts';
import { addLimitsCommands } from './commands/limits.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addOrdersCommands } from './commands/orders.ts';
import { addPetsCommands } from './commands/pets.ts';
import type { CommandContext } from './context.ts';

/** The command line: one file per group of commands. */
export function createProgram(context: CommandContext): Command {
  const program = new Command('petstore')
    .description('Operate the orders service. Reads the same settings as the server.')
    .helpCommand(false)
    .showHelpAfterError('(--help tells more)')
    .exitOverride()
    .configureOutput({ writeOut: context.writeHelp, writeErr: context.writeUsage });
  addKeysCommands(program, context);
  addLimitsCommands(program, context);
  addOrdersCommands(program, context);
  addPetsCommands(program, context);
  addMigrateCommand(program, context);
  return program;
}
