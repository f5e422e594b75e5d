import type { Command } from 'commander';
import { type JsonFlag, unrecordedActorOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

interface MigrateFlags extends JsonFlag {
  readonly status?: true;
}

/** `petstore migrate`: the schema of the database. */
export function addMigrateCommand(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('Bring the database up to date')
    .option('--status', 'Only show which migrations are applied and pending, and where tables differ')
    .addOption(unrecordedActorOption())
    .action(async (flags: MigrateFlags) => {
      const { migrate, showStatus } = await import('../actions/migrate.ts');
      await (flags.status === true ? showStatus : migrate)(context, flags);
    });
}
