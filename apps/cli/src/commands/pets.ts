import type { Pet } from '@petstore/domain';
import type { Command } from 'commander';
import { unrecordedActorOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { PET_FORMATS } from '../export/pet-formats.ts';
import { PET_SHAPE, readPet } from '../import/read-pet.ts';
import { addExportOptions, type ExportFlags, runExport } from './export-command.ts';
import { addImportOptions, type ImportFlags, runImport } from './import-command.ts';

/** `petstore pets`: the catalogue of pets. */
export function addPetsCommands(program: Command, context: CommandContext): void {
  const pets = program.command('pets').description('Import and export pets');
  addImportOptions(pets.command('import').description('Import pets'), PET_SHAPE)
    .addOption(unrecordedActorOption())
    .action((file: string, flags: ImportFlags) =>
      runImport<Pet>(context, file, flags, ({ persistence }) => ({
        shape: PET_SHAPE,
        read: readPet,
        store: (records, options) => persistence.pets.importPets(records, options),
      })),
    );
  addExportOptions(pets.command('export').description('Export pets to a file that can be imported')).action(
    (file: string, flags: ExportFlags) =>
      runExport<Pet>(context, file, flags, {
        list: ({ persistence }) => persistence.pets.listPets(),
        count: ({ persistence }) => persistence.pets.countPets(),
        formats: PET_FORMATS,
      }),
  );
}
