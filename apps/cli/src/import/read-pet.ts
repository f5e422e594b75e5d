import { INT64_MAX, INT64_MIN, type Pet, petId } from '@petstore/domain';
import { type Field, FieldReader, type Fields, textOf } from './fields.ts';
import { readInt64 } from './read-order.ts';
import type { RecordShape } from './read-records.ts';

/** The fields that a pet in a file must have. */
const PET_FIELDS = ['id', 'name'] as const;
export const PET_SHAPE: RecordShape = { fields: PET_FIELDS, required: PET_FIELDS };

/**
 * Reads a pet.
 *
 * @throws FieldError that says which fields are wrong, and what would be right
 */
export function readPet(fields: Fields): Pet {
  const reader = new FieldReader(fields, PET_FIELDS);
  const id = reader.required('id', readInt64, `a whole number from ${INT64_MIN} to ${INT64_MAX}`);
  const name = reader.required('name', readName, 'a text of one character or more, none of them NUL');
  if (id === undefined || name === undefined || reader.isFaulty) throw reader.error;
  return { id: petId(id), name };
}

/** PostgreSQL stores neither NUL nor an unpaired surrogate. */
function readName(field: Field): string | undefined {
  const text = textOf(field, 'text');
  return text !== undefined && text !== '' && !text.includes('\0') && text.isWellFormed() ? text : undefined;
}
