import type { Command } from 'commander';
import type { JsonFlag } from '../arguments.ts';
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
    .option('--status', 'Only show which migrations are applied or pending, and which sequences are behind')
    .action((flags: MigrateFlags) => (flags.status ? showStatus(context, flags) : migrate(context, flags)));

/** Prints the applied and the pending migrations, and the sequences that give ids which are in use. */
async function showStatus({ withSession, output }: CommandContext, { json }: JsonFlag): Promise<void> {
  const { applied, pending, newer, behind } = await withSession(
    async ({ persistence: { migrations, sequences } }) => {
      const status = await migrations.status();
      return { ...status, behind: status.pending.length === 0 ? [...(await sequences.findBehind())] : [] };
    },
    { isUnprepared: true },
  );
  if (json) {
    const sequencesBehind = behind.map(([name]) => name);
    const rest = { ...(newer.length > 0 && { newer }), ...(behind.length > 0 && { sequencesBehind }) };
    return output.writeJson({ applied, pending, ...rest });
  }
  const lines = [
    ...applied.map((name) => `applied  ${name}${newer.includes(name) ? ' (of a newer, compatible release)' : ''}`),
    ...pending.map((name) => `pending  ${name}`),
    ...behind.map(([name, reason]) => `behind   the sequence ${name} (${reason})`),
  ];
  await output.write(lines.map((line) => `${line}\n`).join(''));
}

/** Brings the database up to date. */
async function migrate({ withSession, interruption, output }: CommandContext, { json }: JsonFlag): Promise<void> {
  interruption.setOutcome('Applied migrations are kept; run the command again for the others.');
  const applied = await withSession(
    async ({ settings, persistence: { migrations, sequences }, onWait }) => {
      if (settings.migrate) {
        const applied = await migrations.migrate(onWait);
        const [behind] = await sequences.align();
        if (behind !== undefined)
          throw new CommandError(`the sequence ${behind[0]} stays behind its table: ${behind[1]}`);
        return applied;
      }
      throw new CommandError('the schema is not changed, because MIGRATE is off; set MIGRATE=on');
    },
    { isUnprepared: true },
  );
  if (json) await output.writeJson({ applied });
  else output.message(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}
