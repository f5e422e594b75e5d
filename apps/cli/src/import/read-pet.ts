import { INT64_MAX, INT64_MIN, type Pet, petId } from '@petstore/domain';
import { type Field, type Fields, readRequired, refuseUnknown, textOf } from './fields.ts';
import { readInt64 } from './read-order.ts';

/** What a pet of a file must hold. */
export const PET_FIELDS = ['id', 'name'] as const;

/**
 * Makes a pet of a record.
 *
 * @throws FieldError that says what is wrong with which field, and what would be right
 */
export function readPet(fields: Fields): Pet {
  refuseUnknown(fields, PET_FIELDS);
  return {
    id: petId(readRequired(fields, 'id', readInt64, `a whole number from ${INT64_MIN} to ${INT64_MAX}`)),
    name: readRequired(fields, 'name', readName, 'a text of one character or more, none of them NUL'),
  };
}

/** PostgreSQL keeps neither NUL nor half a surrogate pair. */
function readName(field: Field): string | undefined {
  const text = textOf(field, 'text');
  return text !== undefined && text !== '' && !text.includes('\0') && text.isWellFormed() ? text : undefined;
}
