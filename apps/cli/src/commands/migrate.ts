import type { Command } from 'commander';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';

interface MigrateFlags extends JsonFlag {
  readonly status?: true;
}

/** `petstore migrate`: the schema of the database. */
export function addMigrateCommand(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('bring the database up to date')
    .option('--status', 'only show which migrations are applied and which are pending')
    .action((flags: MigrateFlags) => (flags.status === true ? showStatus(context, flags) : migrate(context, flags)));
}

async function showStatus({ withUnpreparedSession, output }: CommandContext, { json }: MigrateFlags) {
  const { applied, pending } = await withUnpreparedSession(({ persistence }) => persistence.migrations.status());
  if (json) return output.writeJson({ applied, pending });
  const lines = [...applied.map((name) => `applied  ${name}\n`), ...pending.map((name) => `pending  ${name}\n`)];
  await output.write(lines.join(''));
}

async function migrate({ withUnpreparedSession, output }: CommandContext, { json }: MigrateFlags) {
  const applied = await withUnpreparedSession(({ settings, persistence }) => {
    if (!settings.migrate) throw new CommandError('MIGRATE is off, so the schema is not changed; set MIGRATE=on');
    return persistence.migrations.migrate();
  });
  if (json) await output.writeJson({ applied });
  else output.message(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}
