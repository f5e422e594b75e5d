import type { Pet } from '@petstore/domain';
import { CommandError } from '../errors.ts';
import { PET_SHAPE } from '../import/read-pet.ts';
import { jsonArray, lines, type RecordFormat } from './record-formats.ts';

/** The mark of an import that bytes are not UTF-8; as an escape it is a character like another. */
const REPLACEMENT_CHARACTER = /\ufffd/g;

const petToJson = ({ id, name }: Pet): string =>
  `{"id":${id},"name":${JSON.stringify(name).replace(REPLACEMENT_CHARACTER, '\\ufffd')}}`;

/** @throws CommandError where an import would not read the same name from CSV, which has no escapes */
function petToCsv({ id, name }: Pet): string {
  if (/[\r\ufffd]/.test(name)) {
    throw new CommandError(`the name of pet ${id} has a character that CSV cannot hold; use --format ndjson`);
  }
  return `${id},"${name.replaceAll('"', '""')}"`;
}

export const PET_FORMATS = {
  ndjson: lines('', petToJson),
  csv: lines(`${PET_SHAPE.fields.join(',')}\n`, petToCsv),
  array: jsonArray(petToJson),
} as const satisfies Record<string, RecordFormat<Pet>>;
