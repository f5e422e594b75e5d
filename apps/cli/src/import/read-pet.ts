import { type Pet, parseInt64, petId } from '@petstore/domain';
import type { ImportItem } from '@petstore/persistence';
import { FieldReader } from './fields.ts';
import { INT64 } from './read-order.ts';
import type { RawRecord, RecordShape } from './read-records.ts';

/** The fields that a pet in a file must have. */
const PET_FIELDS = ['id', 'name'] as const;
export const PET_SHAPE: RecordShape = { fields: PET_FIELDS, required: PET_FIELDS };

/** Makes a pet of a record, or says which fields are wrong, and what would be right. */
export function readPet({ line, values }: RawRecord): ImportItem<Pet> {
  const fields = new FieldReader(values, PET_FIELDS);
  const id = fields.required('id', parseInt64, INT64);
  const name = fields.required('name', parseName, 'a text of one character or more, none of them NUL');
  if (id === undefined || name === undefined || fields.faults !== undefined) {
    return { line, reason: fields.faults ?? 'not a pet' };
  }
  return { line, value: { id: petId(id), name } };
}

/** PostgreSQL stores neither NUL nor an unpaired surrogate. */
const parseName = (text: string): string | undefined =>
  !text.includes('\0') && text.isWellFormed() ? text : undefined;
