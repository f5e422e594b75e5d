import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addExportOptions, addImportOptions, type ExportFlags, type ImportFlags } from '../files/options.ts';

/** `petstore pets`: the catalogue of pets. */
export function addPetsCommands(program: Command, context: CommandContext): void {
  const pets = program.command('pets').description('Import and export pets');
  addImportOptions(pets.command('import').description('Import pets'))
    .addHelpText('after', '\nFields: id, name')
    .action(async (file: string, flags: ImportFlags) => {
      const { runImport } = await import('../files/import.ts');
      const { PETS_IMPORT } = await import('../files/pet-records.ts');
      await runImport(context, file, flags, PETS_IMPORT);
    });
  addExportOptions(pets.command('export').description('Export pets to a file that can be imported')).action(
    async (file: string, flags: ExportFlags) => {
      const { runExport } = await import('../files/export.ts');
      const { PETS_EXPORT } = await import('../files/pet-records.ts');
      await runExport(context, file, flags, PETS_EXPORT);
    },
  );
}
