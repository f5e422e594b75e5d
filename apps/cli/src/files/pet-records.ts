import { type Pet, parseInt64, petId } from '@petstore/domain';
import type { ImportItem } from '@petstore/persistence';
import { type ExportKind, jsonArray, lines } from './export.ts';
import { FieldReader, INT64 } from './fields.ts';
import type { ImportKind } from './import.ts';
import type { RawRecord } from './record.ts';
import { textToCsv, textToJson } from './texts.ts';

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

const petToJson = ({ id, name }: Pet): string => `{"id":${id},"name":${textToJson(name)}}`;

const petToCsv = ({ id, name }: Pet): string => `${id},${textToCsv(name, `the name of pet ${id}`)}`;

export const PETS_EXPORT: ExportKind<Pet> = {
  list: ({ persistence }) => persistence.pets.listPets(),
  count: ({ persistence }) => persistence.pets.countPets(),
  formats: {
    ndjson: lines('', petToJson),
    csv: lines(`${FIELDS.join(',')}\n`, petToCsv),
    array: jsonArray(petToJson),
  },
};
