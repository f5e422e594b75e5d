import { Command, type OutputConfiguration } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { addAuditCommand } from './commands/audit.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addKeysCommands } from './commands/keys.ts';
import { addLimitsCommands } from './commands/limits.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addOrdersCommands } from './commands/orders.ts';
import { addPetsCommands } from './commands/pets.ts';
import type { CommandContext } from './context.ts';

const HELP = `
Environment:
  DATABASE_URL, REDIS_URL   As for the server; also DATABASE_URL_FILE and
                            REDIS_URL_FILE, which name a file
  REDIS_PREFIX, MIGRATE     As for the server
  DATA_DIR                  Folder of the embedded database, which is used
                            without DATABASE_URL (default: .data), but not in
                            production

Examples:
  petstore keys create --plan pro --name "till 3" --expires 90d
  petstore orders import orders.csv --skip-bad
  petstore orders export - --status shipped | gzip > shipped.ndjson.gz
  petstore audit --order 22
  source <(petstore completion bash)

Documentation: docs/operations.md, apps/cli/README.md`;

/** The command line: one file per group of commands. These load what only their actions need when it is needed. */
export function createProgram(context: CommandContext, parserOutput: OutputConfiguration): Command {
  const program = new Command('petstore')
    .description('Operate the orders service: API keys, limits, orders, pets and the database')
    .version(manifest.version, '--version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .showHelpAfterError('Add --help to the command for its usage.')
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      ...parserOutput,
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
  if (command.commands.length === 0) command.option('--json', 'Print JSON');
  command.commands.forEach(addJsonFlag);
}
