import type { Command } from 'commander';
import { unrecordedActorOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { addExportOptions, addImportOptions, type ExportFlags, type ImportFlags } from '../file-options.ts';
import { PET_SHAPE } from '../import/read-pet.ts';

/** `petstore pets`: the catalogue of pets. */
export function addPetsCommands(program: Command, context: CommandContext): void {
  const pets = program.command('pets').description('Import and export pets');
  addImportOptions(pets.command('import').description('Import pets'), PET_SHAPE)
    .addOption(unrecordedActorOption())
    .action(async (file: string, flags: ImportFlags) => {
      const { importPets } = await import('../actions/import.ts');
      await importPets(context, file, flags);
    });
  addExportOptions(pets.command('export').description('Export pets to a file that can be imported')).action(
    async (file: string, flags: ExportFlags) => {
      const { exportPets } = await import('../actions/export.ts');
      await exportPets(context, file, flags);
    },
  );
}
