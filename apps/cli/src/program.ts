import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { addAuditCommand } from './commands/audit.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addKeysCommands } from './commands/keys.ts';
import { addLimitsCommands } from './commands/limits.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addOrdersCommands } from './commands/orders.ts';
import { addPetsCommands } from './commands/pets.ts';
import type { CommandContext } from './context.ts';

/** Where the parser of arguments writes help, and what is wrong with a command line. */
export interface ParserOutput {
  readonly writeHelp: (text: string) => void;
  readonly writeUsage: (text: string) => void;
}

const HELP = `
Examples:
  petstore keys create --plan pro --name "till 3"
  petstore keys set-plan 1a2B3c4D --plan business --until 24h --reason "sale"
  petstore orders export orders.ndjson
  petstore orders import orders.csv --skip-bad
  petstore audit --order 22

Settings, by environment variables: DATABASE_URL and REDIS_URL (or the files
DATABASE_URL_FILE, REDIS_URL_FILE), REDIS_PREFIX, DATA_DIR, MIGRATE. Without
DATABASE_URL the embedded database in DATA_DIR is used, whether a server runs
or not.`;

/** The command line: one file per group of commands. */
export function createProgram(context: CommandContext, { writeHelp, writeUsage }: ParserOutput): Command {
  const program = new Command('petstore')
    .description('Operate the orders service. Reads the same settings as the server.')
    .version(manifest.version, '--version', 'print the version')
    .addHelpText('after', HELP)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: writeHelp,
      writeErr: writeUsage,
      outputError: (text, write) => write(text.replace(/^error: /, 'petstore: ')), // as all errors begin here
    });
  addKeysCommands(program, context);
  addLimitsCommands(program, context);
  addOrdersCommands(program, context);
  addPetsCommands(program, context);
  addAuditCommand(program, context);
  addMigrateCommand(program, context);
  addJsonFlag(program);
  addCompletionCommand(program, context); // whose output is a script, and never JSON
  return program;
}

/** Every command that does something has this flag: `JsonFlag` of arguments.ts. */
function addJsonFlag(command: Command): void {
  if (command.commands.length === 0) command.option('--json', 'print one JSON value');
  command.commands.forEach(addJsonFlag);
}
