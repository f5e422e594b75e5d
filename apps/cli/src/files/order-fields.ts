import {
  definitionOf,
  describeValueOf,
  type FieldDefinition,
  type FieldKind,
  isValueOf,
  LISTED_FIELDS,
  type ListedField,
  ORDER_STATUSES,
  parseInt64,
  parseRfc3339,
} from '@petstore/domain';
import { INT64 } from './fields.ts';
import { textToCsv, textToJson } from './texts.ts';

/** The fields that an order in a file has. `if known`: an import does without it. */
export const FIELDS = {
  id: 'always',
  petId: 'always',
  quantity: 'always',
  shipDate: 'if known',
  complete: 'if known',
  status: 'if known',
} as const satisfies Record<ListedField, 'always' | 'if known'>;

export const fieldsThat = (are: (typeof FIELDS)[ListedField]) => LISTED_FIELDS.filter((name) => FIELDS[name] === are);

/** The fields of a file, for the help. */
export const FIELDS_IN_WORDS = `${fieldsThat('always').join(', ')}, and optionally\n${fieldsThat('if known').join(', ')}`;

/** What files and tables hold of a value. */
interface FileKind {
  /** @returns `undefined` if the text is no value of this kind */
  readonly parse: (text: string) => unknown;
  /** What the text of a value must be, to be read after "must be". */
  readonly expected: (definition: FieldDefinition) => string;
  /** JSON of a value's text. */
  readonly toJson: (text: string) => string;
  /** A value's text in CSV. @param what names the value in a message */
  readonly toCsv: (text: string, what: string) => string;
  /** A cell of a table. */
  readonly toCell: (text: string, isForPerson: boolean) => string | number | bigint;
  /** Whether a terminal that is too narrow may cut the cell. */
  readonly isFlexible?: true;
}

const same = (text: string): string => text;
const inPlainDigits = (definition: FieldDefinition) => `${describeValueOf(definition)}, in plain digits`;

/** Spreadsheets write TRUE and FALSE. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

export const FILE_KINDS: Readonly<Record<FieldKind, FileKind>> = {
  int64: { parse: parseInt64, expected: () => INT64, toJson: same, toCsv: same, toCell: BigInt },
  wholeNumber: {
    parse(text) {
      const value = parseInt64(text);
      return value === undefined ? undefined : Number(value);
    },
    expected: inPlainDigits,
    toJson: same,
    toCsv: same,
    toCell: Number,
  },
  instant: {
    parse: parseRfc3339,
    expected: () => 'a date-time with its offset in the years 0001 to 9999, such as 2026-01-02T03:04:05.678Z',
    toJson: (text) => `"${text}"`,
    toCsv: same,
    toCell: (text, isForPerson) => (isForPerson ? text.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ') : text),
  },
  boolean: {
    parse: (text) => BOOLEANS.get(text.toLowerCase()),
    expected: describeValueOf,
    toJson: same,
    toCsv: same,
    toCell: (text) => (text === 'true' ? 'yes' : 'no'),
  },
  status: {
    parse: (text) => ORDER_STATUSES.find((status) => status === text),
    expected: describeValueOf,
    toJson: textToJson,
    toCsv: textToCsv,
    toCell: same,
  },
  text: {
    parse: same,
    expected: describeValueOf,
    toJson: textToJson,
    toCsv: textToCsv,
    toCell: same,
    isFlexible: true,
  },
};

/** The columns of a table that a terminal that is too narrow may cut. */
export const FLEXIBLE_FIELDS = LISTED_FIELDS.filter((name) => FILE_KINDS[definitionOf(name).kind].isFlexible);

/** Reads a value that the field may have. @returns `undefined` if the text is none */
export function parseValueOf(definition: FieldDefinition, text: string): unknown {
  const value = FILE_KINDS[definition.kind].parse(text);
  return isValueOf(definition, value) ? value : undefined;
}
