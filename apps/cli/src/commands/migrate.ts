import type { Command } from 'commander';
import { type JsonFlags, jsonOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandFailure } from '../failure.ts';

interface MigrateFlags extends JsonFlags {
  readonly status?: true;
}

/** `petstore migrate`: the schema of the database. */
export function addMigrateCommand(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('bring the database up to date')
    .option('--status', 'only show what is applied and what is pending')
    .addOption(jsonOption())
    .action((flags: MigrateFlags) => (flags.status === true ? showStatus(context, flags) : migrate(context, flags)));
}

async function showStatus({ withUnpreparedSession, output }: CommandContext, { json }: MigrateFlags) {
  const { applied, pending } = await withUnpreparedSession(({ persistence }) => persistence.migrations.status());
  if (json) await output.write(`${JSON.stringify({ applied, pending })}\n`);
  else {
    const lines = [...applied.map((name) => `applied  ${name}`), ...pending.map((name) => `pending  ${name}`)];
    await output.write(`${lines.join('\n')}\n`);
  }
}

async function migrate({ withUnpreparedSession, output }: CommandContext, { json }: MigrateFlags) {
  const applied = await withUnpreparedSession(({ settings, persistence }) => {
    if (!settings.migrate) throw new CommandFailure('MIGRATE is off, so the schema is not changed; set MIGRATE=on');
    return persistence.migrations.migrate();
  });
  if (json) await output.write(`${JSON.stringify({ applied })}\n`);
  else output.say(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}
