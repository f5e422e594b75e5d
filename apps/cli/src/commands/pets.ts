import type { Pet } from '@petstore/domain';
import type { Command } from 'commander';
import { addActorOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { PET_FIELDS, readPet } from '../import/read-pet.ts';
import { type ImportFlags, runImport } from './import-command.ts';

/** `petstore pets`: the catalogue of pets. */
export function addPetsCommands(program: Command, context: CommandContext): void {
  const pets = program.command('pets').description('fill the catalogue of pets');
  addActorOption(pets.command('import <FILE>'))
    .description('import pets from NDJSON, a JSON array or CSV with a header; - reads standard input')
    .option('--skip-bad', 'import the valid lines when others are invalid')
    .action((file: string, flags: ImportFlags) =>
      runImport<Pet>(context, file, flags, ({ persistence }) => ({
        shape: { fields: PET_FIELDS, required: PET_FIELDS },
        read: readPet,
        store: (records, options) => persistence.pets.importPets(records, options),
      })),
    );
}
