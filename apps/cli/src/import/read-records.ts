import type { RejectedRecord } from '@petstore/persistence';
import { parse } from 'csv-parse/sync';
import { quote } from './fields.ts';
import { readLines, refuseLongRecord, UnreadableInputError } from './read-lines.ts';

/** The fields that the records of a file have. */
export interface RecordShape {
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

/** A record of a file, its values not yet checked: of CSV all are texts. */
export interface RawRecord {
  /** As an editor counts. */
  readonly line: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Takes the lines of a file one after the other. A line that gives no record is blank, a header, or begins a record. */
interface RecordReader {
  read(line: number, text: string): RawRecord | RejectedRecord | undefined;
  /** @throws UnreadableInputError if the last record is not complete */
  end(): void;
}

/**
 * Reads the records of a file, some at a time. The first character determines the format: a brace begins NDJSON, anything
 * else the header of CSV.
 *
 * @throws UnreadableInputError if the file cannot be read at all
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  shape: RecordShape,
): AsyncGenerator<readonly (RawRecord | RejectedRecord)[]> {
  let reader: RecordReader | undefined;
  let line = 0;
  for await (const lines of readLines(bytes)) {
    const records: (RawRecord | RejectedRecord)[] = [];
    for (const text of lines) {
      line++;
      if (reader === undefined && text.trim() === '') continue;
      reader ??= readerFor(line, text.trimStart(), shape);
      const record = reader.read(line, text);
      if (record !== undefined) records.push(record);
    }
    yield records;
  }
  reader?.end();
}

function readerFor(line: number, text: string, shape: RecordShape): RecordReader {
  if (text.startsWith('{')) return ndjsonReader;
  if (!text.startsWith('[')) return new CsvReader(shape);
  const how = "write each of its records on a line of its own, as jq (1.7 or newer) does: jq -c '.[]' FILE";
  throw new UnreadableInputError(`line ${line}: the file is a JSON array, and must be NDJSON or CSV; ${how}`);
}

/** The decoder's replacement for bytes that are not UTF-8. */
const REPLACEMENT_CHARACTER = '\ufffd';
const NOT_UTF8 = 'not valid UTF-8';

const ndjsonReader: RecordReader = {
  read(line, text) {
    if (text.includes(REPLACEMENT_CHARACTER)) return { line, reason: NOT_UTF8 };
    try {
      const values: unknown = NEEDS_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
      if (typeof values !== 'object' || values === null || Array.isArray(values)) {
        return { line, reason: 'not a JSON object' };
      }
      return { line, values: values as RawRecord['values'] }; // an object that JSON describes
    } catch {
      return text.trim() === '' ? undefined : { line, reason: 'not valid JSON' };
    }
  },
  end() {},
};

/**
 * Finds a field whose value a double might not keep digit by digit, or an array or object that may hold one. Looking for
 * it first is worth it: reading with the digits takes several times as long.
 */
const NEEDS_DIGITS = /"\s*:(?!\s*(?:["tfn]|(?:0|-?[1-9]\d{0,14})\s*[,}]))/;

/** Makes a text of a number, as the file writes it. */
const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? context?.source : value;

/**
 * Reads CSV (RFC 4180). A quoted cell may contain line ends. A quote in the wrong place makes the file unreadable, because
 * it is not known which of the rows after it are rows.
 *
 * Rows without quotes, which are nearly all, are split here in 1.4 µs. csv-parse takes 3.2 µs a row as a stream, and 5 µs
 * with the numbers of the lines, which every rejected record has.
 */
class CsvReader implements RecordReader {
  readonly #shape: RecordShape;
  #header: readonly string[] | undefined;
  /** The beginning of a row in which a quote is open. */
  #begun = '';
  #beginLine = 0;

  constructor(shape: RecordShape) {
    this.#shape = shape;
  }

  read(line: number, text: string): RawRecord | RejectedRecord | undefined {
    if (this.#begun === '') this.#beginLine = line;
    const row = this.#begun === '' ? text : `${this.#begun}\n${text}`;
    const isOpen = (this.#begun !== '') !== hasOddQuotes(text);
    if (isOpen) refuseLongRecord(this.#beginLine, row);
    this.#begun = isOpen ? row : '';
    return isOpen ? undefined : this.#readRow(this.#beginLine, row);
  }

  end(): void {
    if (this.#begun === '') return;
    throw new UnreadableInputError(`line ${this.#beginLine}: a quote opens on this line and is not closed`);
  }

  #readRow(line: number, row: string): RawRecord | RejectedRecord | undefined {
    const cells = row.includes('"') ? parseCells(line, row) : row.split(',').map((cell) => cell.trim());
    if (cells.every((cell) => cell === '')) return undefined; // a spreadsheet keeps rows that were emptied
    if (this.#header === undefined) {
      this.#header = checkHeader(line, cells, this.#shape);
      return undefined;
    }
    const header = this.#header;
    if (row.includes(REPLACEMENT_CHARACTER)) return { line, reason: NOT_UTF8 };
    if (cells.length < header.length || cells.some((cell, i) => cell !== '' && !header[i])) {
      return { line, reason: `the row has ${cells.length} cells, and the header has ${header.length}` };
    }
    const values: Record<string, string> = {};
    for (const [i, name] of header.entries()) if (name !== '') values[name] = cells[i] ?? '';
    return { line, values };
  }
}

const hasOddQuotes = (text: string): boolean => text.includes('"') && text.split('"').length % 2 === 0;

/** @throws UnreadableInputError if a quote is in the wrong place */
function parseCells(line: number, row: string): readonly string[] {
  try {
    const [cells = [], ...others]: string[][] = parse(row, {
      record_delimiter: '\n',
      trim: true,
      relax_column_count: true,
    });
    if (others.length === 0) return cells;
  } catch {}
  throw new UnreadableInputError(
    `line ${line}: a quote is in the wrong place; within a cell it must be doubled, and the cell be quoted`,
  );
}

/**
 * @returns the names of the columns, which are empty for those that a spreadsheet has kept and that hold nothing
 * @throws UnreadableInputError if the header is wrong: no row can be read without it
 */
function checkHeader(line: number, cells: readonly string[], { fields, required }: RecordShape): readonly string[] {
  const names = cells.slice(0, cells.findLastIndex((name) => name !== '') + 1);
  const unknown = names.find((name) => name !== '' && !fields.includes(name));
  const repeated = names.find((name, i) => name !== '' && names.indexOf(name) !== i);
  const missing = required.find((name) => !names.includes(name));
  const fail = (problem: string): never => {
    const formats = `NDJSON, or CSV that begins with a header of ${fields.join(',')}`;
    throw new UnreadableInputError(`line ${line}: ${problem}. The file must be ${formats}`);
  };
  if (unknown !== undefined) return fail(`unknown column ${quote(unknown)}`);
  if (repeated !== undefined) return fail(`duplicate column ${repeated}`);
  if (missing !== undefined) return fail(`column ${missing} is missing`);
  return names;
}
