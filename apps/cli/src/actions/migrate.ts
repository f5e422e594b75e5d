import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { MAY_MAKE_DATABASE } from '../session.ts';

/** Prints which migrations are applied and pending, and where tables differ. */
export async function showStatus({ withUnpreparedSession, output }: CommandContext, { json }: JsonFlag) {
  const { applied, pending, newer, drift } = await withUnpreparedSession(async ({ persistence: { migrations } }) => {
    const status = await migrations.status();
    // Another release's database differs because it is another release's.
    const isOurs = status.pending.length === 0 && status.newer.length === 0;
    return { ...status, drift: isOurs ? await migrations.drift() : [] };
  });
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
export async function migrate({ withUnpreparedSession, interruption, output }: CommandContext, { json }: JsonFlag) {
  interruption.leaves('Migrations that were applied stay; run it again for the others.');
  const applied = await withUnpreparedSession(({ settings, persistence }) => {
    if (!settings.migrate) throw new CommandError('the schema is not changed, because MIGRATE is off; set MIGRATE=on');
    return persistence.migrations.migrate();
  }, MAY_MAKE_DATABASE);
  if (json) await output.writeJson({ applied });
  else output.message(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}
