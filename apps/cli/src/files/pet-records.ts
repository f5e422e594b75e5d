import { type Pet, parseInt64, petId } from '@petstore/domain';
import type { ImportItem } from '@petstore/persistence';
import { CommandError } from '../errors.ts';
import { type ExportKind, jsonArray, lines } from './export.ts';
import { FieldReader, INT64 } from './fields.ts';
import type { ImportKind } from './import.ts';
import type { RawRecord } from './record.ts';

/** The fields that a pet in a file must have. */
const FIELDS = ['id', 'name'] as const;

export const PETS_IMPORT: ImportKind<Pet> = {
  shape: { fields: FIELDS, required: FIELDS },
  read: readPet,
  store: ({ persistence }, pets, options) => persistence.pets.importPets(pets, options),
};

/** Makes a pet from a record, or says which fields are wrong, and what would be right. */
function readPet({ line, values }: RawRecord): ImportItem<Pet> {
  const fields = new FieldReader(values, FIELDS);
  const id = fields.required('id', parseInt64, INT64);
  const name = fields.required('name', parseName, 'a text of at least one character, without NUL');
  if (id === undefined || name === undefined || fields.faults !== undefined) {
    return { line, reason: fields.faults ?? 'not a pet' };
  }
  return { line, value: { id: petId(id), name } };
}

/** PostgreSQL stores neither NUL nor an unpaired surrogate. */
const parseName = (text: string): string | undefined =>
  !text.includes('\0') && text.isWellFormed() ? text : undefined;

/** An import takes this character for bytes that are not UTF-8; written as an escape, it is an ordinary character. */
const REPLACEMENT_CHARACTER = /\ufffd/g;

const petToJson = ({ id, name }: Pet): string =>
  `{"id":${id},"name":${JSON.stringify(name).replace(REPLACEMENT_CHARACTER, '\\ufffd')}}`;

/** @throws CommandError if an import would not read the same name from CSV, which has no escapes */
function petToCsv({ id, name }: Pet): string {
  if (name.includes('\ufffd')) {
    throw new CommandError(`the name of pet ${id} has a character that CSV cannot hold; use --format ndjson`);
  }
  const isPlain = name === name.trim() && !/[",\r\n]/.test(name);
  return `${id},${isPlain ? name : `"${name.replaceAll('"', '""')}"`}`;
}

export const PETS_EXPORT: ExportKind<Pet> = {
  list: ({ persistence }) => persistence.pets.listPets(),
  count: ({ persistence }) => persistence.pets.countPets(),
  formats: {
    ndjson: lines('', petToJson),
    csv: lines(`${FIELDS.join(',')}\n`, petToCsv),
    array: jsonArray(petToJson),
  },
};
