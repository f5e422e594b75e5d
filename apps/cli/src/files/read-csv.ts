import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { quote } from './fields.ts';
import {
  NOT_UTF8,
  RECORD_LENGTH_MAX,
  REPLACEMENT_CHARACTER,
  type ReadRecord,
  type RecordShape,
  tooLong,
  UnreadableInputError,
} from './record.ts';

/** A spreadsheet separates cells by semicolons in languages with decimal commas; cells that are copied, by tabs. */
const DELIMITERS = [',', ';', '\t'];
const BATCH_SIZE = 500;

/**
 * Reads CSV (RFC 4180), also with semicolons or tabs, in batches. A misplaced quote makes the file unreadable, because the
 * boundaries of later rows are then unknown.
 *
 * @param head the text from the header on, at least to the end of its line
 * @throws UnreadableInputError
 */
export async function* readCsv(
  bytes: AsyncIterable<Uint8Array>,
  head: string,
  shape: RecordShape,
): AsyncGenerator<readonly ReadRecord[]> {
  const [headLine = ''] = head.split('\n', 1);
  /** The first line of the row that is being parsed. The parser counts line ends within quotes twice if they are CR LF. */
  let line = 1;
  let header: readonly string[] | undefined;
  const readRow = (cells: readonly string[]): ReadRecord | null => {
    const begin = line;
    line += cells.reduce((count, cell) => count + cell.split('\n').length - 1, 1);
    if (cells.every((cell) => cell === '')) return null; // spreadsheets keep rows that were emptied
    if (header !== undefined) return toRecord(begin, header, cells);
    header = checkHeader(begin, cells, shape);
    return null;
  };
  const parser = parse({
    bom: true,
    // No name of a column contains a delimiter.
    delimiter: DELIMITERS.find((delimiter) => headLine.includes(delimiter)) ?? ',',
    record_delimiter: ['\r\n', '\n'],
    trim: true,
    relax_column_count: true,
    max_record_size: RECORD_LENGTH_MAX,
    // It is called for each row; one for which it returns null is passed over. Types allow other records with columns only.
    on_record: (cells) => readRow(cells) as unknown as string[] | null,
  });
  let batch: ReadRecord[] = [];
  try {
    // The loop throws the errors that the callback passes over.
    for await (const record of pipeline(bytes, parser, () => {})) {
      batch.push(record);
      if (batch.length < BATCH_SIZE) continue;
      yield batch;
      batch = [];
    }
  } catch (error) {
    throw error instanceof CsvError ? explain(error, line) : error;
  }
  yield batch;
}

function explain({ code }: CsvError, line: number): UnreadableInputError {
  if (code === 'CSV_MAX_RECORD_SIZE') return tooLong(line);
  const reason =
    code === 'CSV_QUOTE_NOT_CLOSED'
      ? 'a quote that opens on this line is not closed'
      : 'misplaced quote; inside a cell, double the quote and put the cell in quotes';
  return new UnreadableInputError(`line ${line}: ${reason}`);
}

function toRecord(line: number, header: readonly string[], cells: readonly string[]): ReadRecord {
  if (cells.some((cell) => cell.includes(REPLACEMENT_CHARACTER))) return { line, reason: NOT_UTF8 };
  if (cells.length < header.length || cells.some((cell, i) => cell !== '' && !header[i])) {
    const count = cells.length === 1 ? '1 cell' : `${cells.length} cells`;
    return { line, reason: `the row has ${count}, and the header has ${header.length}` };
  }
  const named = header.map((name, i) => [name, cells[i]]).filter(([name]) => name !== '');
  return { line, values: Object.fromEntries(named) };
}

/**
 * @returns the names of the columns; empty for columns that a spreadsheet has kept although they hold nothing
 * @throws UnreadableInputError if the header is wrong: no row can be read without it
 */
function checkHeader(line: number, cells: readonly string[], { fields, required }: RecordShape): readonly string[] {
  const names = cells
    .slice(0, cells.findLastIndex((name) => name !== '') + 1)
    .map((cell) => fields.find((name) => name.toLowerCase() === cell.trim().toLowerCase()) ?? cell);
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
