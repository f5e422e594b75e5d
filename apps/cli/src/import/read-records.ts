import type { ImportRecord, RejectedRecord } from '@petstore/persistence';
import { type CsvRow, readCsvRows } from './csv-rows.ts';
import { FieldError, orReason, quote, type RawRecord } from './fields.ts';
import { parseJsonRecord } from './json-records.ts';
import { splitArray } from './split-array.ts';
import { type NumberedText, splitLines } from './split-lines.ts';
import { decodeText, peekCharacter, UnreadableInputError } from './text-chunks.ts';

/** The fields that the records of a file have. */
export interface RecordShape {
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

/** A record whose values are not yet validated, one that was read as a whole, or one that cannot be read. */
export type ReadRecord<Value> = RawRecord | ImportRecord<Value> | RejectedRecord;

/** A batch is parsed as it is gone through, so that no record outlives the next. */
type Records<Value> = AsyncGenerator<Iterable<ReadRecord<Value>>>;

/** Reads what it can in less time than any other record takes; `undefined` is returned for what it cannot. */
export interface PlainReader<Value> {
  /** A line of NDJSON. */
  readonly readLine: (line: string) => Value | undefined;
  /** A row of CSV with that header. */
  readonly rowReader: (header: readonly string[]) => (cells: readonly string[]) => Value | undefined;
}

/**
 * Reads the records of a file, a batch at a time. The first character determines the format: a brace begins NDJSON, a
 * bracket a JSON array (as in a list response), anything else the header of CSV.
 *
 * @param plain reads the records that it can
 * @throws UnreadableInputError where the file cannot be read at all
 */
export async function* readRecords<Value>(
  bytes: AsyncIterable<Uint8Array>,
  shape: RecordShape,
  plain: PlainReader<Value> | undefined,
): Records<Value> {
  const { character, chunks } = await peekCharacter(decodeText(bytes));
  switch (character) {
    case undefined:
      return;
    case '{':
      return yield* readJson(splitLines(chunks), plain);
    case '[':
      return yield* readJson(splitArray(chunks), plain);
    default:
      return yield* readCsv(readCsvRows(splitLines(chunks)), shape, plain);
  }
}

async function* readJson<Value>(
  batches: AsyncIterable<readonly (NumberedText | RejectedRecord)[]>,
  plain: PlainReader<Value> | undefined,
): Records<Value> {
  for await (const batch of batches) yield parseJson(batch, plain);
}

function* parseJson<Value>(
  batch: readonly (NumberedText | RejectedRecord)[],
  plain: PlainReader<Value> | undefined,
): Generator<ReadRecord<Value>> {
  for (const item of batch) {
    const value = 'text' in item ? plain?.readLine(item.text) : undefined;
    if (value !== undefined) yield { line: item.line, value };
    else if ('reason' in item) yield item;
    else if (item.text.trim() !== '') yield orReason(item.line, () => parseJsonRecord(rejectBrokenText(item)));
  }
}

async function* readCsv<Value>(
  batches: AsyncIterable<readonly (CsvRow | RejectedRecord)[]>,
  shape: RecordShape,
  plain: PlainReader<Value> | undefined,
): Records<Value> {
  let header: readonly string[] | undefined;
  let readCells: ((cells: readonly string[]) => Value | undefined) | undefined;
  for await (const batch of batches) {
    const [first] = batch;
    if (header !== undefined) yield parseRows(batch, header, readCells);
    else if (first !== undefined) {
      header = readHeader(first, shape);
      readCells = plain?.rowReader(header);
      yield parseRows(batch.slice(1), header, readCells);
    }
  }
}

function* parseRows<Value>(
  rows: readonly (CsvRow | RejectedRecord)[],
  header: readonly string[],
  readCells: ((cells: readonly string[]) => Value | undefined) | undefined,
): Generator<ReadRecord<Value>> {
  for (const row of rows) {
    const value = 'cells' in row ? readCells?.(row.cells) : undefined;
    yield value === undefined ? recordOfRow(row, header) : { line: row.line, value };
  }
}

/** @throws UnreadableInputError where the header is wrong: no row can be read without it */
function readHeader(row: CsvRow | RejectedRecord, { fields, required }: RecordShape): readonly string[] {
  const fail = (problem: string): never => {
    throw new UnreadableInputError(
      `line ${row.line}: ${problem}. The file must be NDJSON, a JSON array, or CSV that begins with a header of ` +
        `${fields.join(',')}`,
    );
  };
  if ('reason' in row) return fail(row.reason);
  const unknown = row.cells.find((name) => !fields.includes(name));
  if (unknown !== undefined) return fail(`unknown column ${quote(unknown)}`);
  const repeated = row.cells.find((name, i) => row.cells.indexOf(name) !== i);
  if (repeated !== undefined) return fail(`duplicate column ${repeated}`);
  const missing = required.find((name) => !row.cells.includes(name));
  if (missing !== undefined) return fail(`column ${missing} is missing`);
  return row.cells;
}

function recordOfRow(row: CsvRow | RejectedRecord, header: readonly string[]): RawRecord | RejectedRecord {
  if ('reason' in row) return row;
  const { line, cells } = row;
  return orReason(line, () => {
    if (cells.length !== header.length) {
      throw new FieldError(`the row has ${cells.length} cells, and the header has ${header.length}`);
    }
    const texts = cells.map((text) => rejectBrokenText({ line, text }).text);
    return { line, fields: new Map(header.map((name, i) => [name, { type: 'untyped', text: texts[i] ?? '' }])) };
  });
}

/** The decoder's replacement for bytes that are not UTF-8. */
const REPLACEMENT_CHARACTER = '\ufffd';

function rejectBrokenText(item: NumberedText): NumberedText {
  if (item.text.includes(REPLACEMENT_CHARACTER)) throw new FieldError('not valid UTF-8');
  return item;
}
