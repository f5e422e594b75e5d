import { readCommit } from '@petstore/runtime';
import { Command, CommanderError, type OutputConfiguration } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { addAuditCommand } from './commands/audit.ts';
import { addKeysCommands } from './commands/keys.ts';
import { addLimitsCommands } from './commands/limits.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addOrdersCommands } from './commands/orders.ts';
import { addPetsCommands } from './commands/pets.ts';
import type { CommandContext } from './context.ts';

/** Some more than git itself shows in a repository of this size. Build metadata: SemVer 2.0.0, section 10. */
const COMMIT_DIGITS = 12;

const HELP = `
Environment:
  DATABASE_URL, REDIS_URL   As for the server; also DATABASE_URL_FILE and
                            REDIS_URL_FILE, which name a file
  REDIS_PREFIX, MIGRATE     As for the server
  DATA_DIR                  Data folder of a running server, whose embedded
                            database is used without DATABASE_URL (default:
                            .data)

Examples:
  petstore keys create --plan pro --name "till 3" --expires 90d
  petstore orders import orders.csv --skip-bad
  petstore orders export - --status shipped | gzip > shipped.ndjson.gz
  petstore audit --order 22

Documentation: docs/settings.md, docs/operations.md, apps/cli/README.md`;

/** The command line: one file per group of commands. Each action loads its own dependencies when it runs. */
export function createProgram(context: CommandContext, parserOutput: OutputConfiguration): Command {
  const program = new Command('petstore')
    .description('Operate the orders service: API keys, limits, orders, pets and the database')
    .option('--version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .showHelpAfterError('Add --help to the command for its usage.')
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      ...parserOutput,
      outputError: (text, write) => write(text.replace(/^error: /, 'petstore: ')), // the prefix of all errors here
    });
  // Commander's own option would ask git for the commit at every command.
  program.on('option:version', () => {
    const commit = readCommit();
    const version = commit === undefined ? manifest.version : `${manifest.version}+${commit.slice(0, COMMIT_DIGITS)}`;
    parserOutput.writeOut?.(`${version}\n`);
    throw new CommanderError(0, 'commander.version', version);
  });
  addKeysCommands(program, context);
  addLimitsCommands(program, context);
  addOrdersCommands(program, context);
  addPetsCommands(program, context);
  addAuditCommand(program, context);
  addMigrateCommand(program, context);
  addJsonFlag(program);
  return program;
}

/** Every command with an action has this flag: `JsonFlag` of arguments.ts. */
function addJsonFlag(command: Command): void {
  if (command.commands.length === 0) command.option('--json', 'Print JSON');
  command.commands.forEach(addJsonFlag);
}
