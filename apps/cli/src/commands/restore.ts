import type { Command } from 'commander';
import { type JsonFlag, unrecordedActorOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

interface RestoreFlags extends JsonFlag {
  readonly check?: true;
}

/** `petstore restore`: a file of `petstore backup`, back into a database. */
export function addRestoreCommand(program: Command, context: CommandContext): void {
  program
    .command('restore')
    .description('Restore a backup into a database without orders, pets, keys and events')
    .argument('<FILE>', 'File of "petstore backup"; - reads standard input')
    .option('--check', 'Only check the file, and show what it holds; needs no database')
    .addOption(unrecordedActorOption())
    .action(async (file: string, flags: RestoreFlags) => {
      const { checkBackup, restoreBackup } = await import('../actions/restore.ts');
      await (flags.check ? checkBackup : restoreBackup)(context, file, flags);
    });
}
