import type { Command } from 'commander';
import { type JsonFlag, unrecordedActorOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';

interface MigrateFlags extends JsonFlag {
  readonly status?: true;
}

/** `petstore migrate`: the schema of the database. */
export const addMigrateCommand = (program: Command, context: CommandContext): Command =>
  program
    .command('migrate')
    .description('Bring the database up to date')
    .option('--status', 'Only show which migrations are applied and pending, and where tables differ')
    .addOption(unrecordedActorOption())
    .action((flags: MigrateFlags) => (flags.status ? showStatus(context, flags) : migrate(context, flags)));

/** Prints the applied and the pending migrations, and differences of the tables. */
async function showStatus({ withSession, output }: CommandContext, { json }: JsonFlag): Promise<void> {
  const { applied, pending, newer, drift } = await withSession(
    async ({ persistence: { migrations } }) => {
      const status = await migrations.status();
      // The database of another release is expected to differ.
      const isOurs = status.pending.length === 0 && status.newer.length === 0;
      return { ...status, drift: isOurs ? await migrations.drift() : [] };
    },
    { isUnprepared: true },
  );
  if (json) {
    const rest = { ...(newer.length > 0 && { newer }), ...(drift.length > 0 && { drift }) };
    return output.writeJson({ applied, pending, ...rest });
  }
  const lines = [
    ...applied.map((name) => `applied  ${name}${newer.includes(name) ? ' (of a newer, compatible release)' : ''}`),
    ...pending.map((name) => `pending  ${name}`),
    ...drift.map((difference) => `drift    ${difference}`),
  ];
  await output.write(lines.map((line) => `${line}\n`).join(''));
}

/** Brings the database up to date. */
async function migrate({ withSession, interruption, output }: CommandContext, { json }: JsonFlag): Promise<void> {
  interruption.leaves('Migrations that were applied stay; run it again for the others.');
  const applied = await withSession(
    ({ settings, persistence }) => {
      if (settings.migrate) return persistence.migrations.migrate();
      throw new CommandError('the schema is not changed, because MIGRATE is off; set MIGRATE=on');
    },
    { mayCreate: true, isUnprepared: true },
  );
  if (json) await output.writeJson({ applied });
  else output.message(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}
