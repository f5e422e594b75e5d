import type { Command } from 'commander';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

/** `petstore backup`: all that is kept, in a file. */
export function addBackupCommand(program: Command, context: CommandContext): void {
  program
    .command('backup')
    .description('Save orders, pets, keys, events and the audit to a file')
    .argument('<FILE>', 'File to write; - writes to standard output')
    .action(async (file: string, flags: JsonFlag) => {
      const { makeBackup } = await import('../actions/backup.ts');
      await makeBackup(context, file, flags);
    });
}
