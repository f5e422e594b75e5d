import { INT64_MAX, INT64_MIN, type Pet, petId } from '@petstore/domain';
import { type Field, type Fields, readRequired, rejectUnknown, textOf } from './fields.ts';
import { readInt64 } from './read-order.ts';

/** The fields that a pet in a file must have. */
export const PET_FIELDS = ['id', 'name'] as const;

/**
 * Reads a pet.
 *
 * @throws FieldError that says which field is wrong, and what would be right
 */
export function readPet(fields: Fields): Pet {
  rejectUnknown(fields, PET_FIELDS);
  return {
    id: petId(readRequired(fields, 'id', readInt64, `a whole number from ${INT64_MIN} to ${INT64_MAX}`)),
    name: readRequired(fields, 'name', readName, 'a text of one character or more, none of them NUL'),
  };
}

/** PostgreSQL stores neither NUL nor an unpaired surrogate. */
function readName(field: Field): string | undefined {
  const text = textOf(field, 'text');
  return text !== undefined && text !== '' && !text.includes('\0') && text.isWellFormed() ? text : undefined;
}
