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
import { addHelpCommand, completeHelp } from './help.ts';

/** Where the parser of arguments writes help, and what is wrong with a command line. */
export interface ParserOutput {
  readonly writeHelp: (text: string) => void;
  readonly writeUsage: (text: string) => void;
}

const HELP = `
Environment:
  DATABASE_URL, REDIS_URL   As for the server; also DATABASE_URL_FILE and
                            REDIS_URL_FILE, which name a file
  REDIS_PREFIX, MIGRATE     As for the server
  DATA_DIR                  Folder of the embedded database, which is used
                            without DATABASE_URL (default: .data), but not in
                            production

Documentation: docs/operations.md, apps/cli/README.md`;

/** The command line: one file per group of commands. */
export function createProgram(context: CommandContext, { writeHelp, writeUsage }: ParserOutput): Command {
  const program = new Command('petstore')
    .description('Operate the orders service: API keys, limits, orders, pets and the database')
    .version(manifest.version, '--version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
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
  addHelpCommand(program);
  completeHelp(program);
  program.addHelpText('after', HELP);
  addHint(program, 'petstore');
  tellUnknownOptionsFirst(program);
  return program;
}

/** Every command that does something has this flag: `JsonFlag` of arguments.ts. */
function addJsonFlag(command: Command): void {
  if (command.commands.length === 0) command.option('--json', 'Print JSON');
  command.commands.forEach(addJsonFlag);
}

/** Where a required option is misspelt, commander would say that it is missing, and not what stands in its place. */
function tellUnknownOptionsFirst(command: Command): void {
  const parseOptions = command.parseOptions.bind(command);
  command.parseOptions = (args) => {
    const parsed = parseOptions(args);
    if (parsed.unknown.length > 0) for (const option of command.options) option.makeOptionMandatory(false);
    return parsed;
  };
  command.commands.forEach(tellUnknownOptionsFirst);
}

/** Behind what is wrong with a command line stands where to read what would be right. */
function addHint(command: Command, path: string): void {
  command.showHelpAfterError(`Run '${path} --help' for usage.`);
  for (const child of command.commands) addHint(child, `${path} ${child.name()}`);
}
