import type { RejectedRecord } from '@petstore/persistence';
import { parse } from 'csv-parse/sync';
import type { NumberedText } from './split-lines.ts';

/** The cells of one row, and the line on which it begins. */
export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** A quote that is not closed within so many characters is considered a mistake. */
const ROW_LENGTH_MAX = 100_000;

const NOT_CLOSED = 'a quote opens on this line and is not closed';
const MISPLACED = 'a quote within a cell must be doubled, and the cell be quoted';

/**
 * Reads the rows of CSV (RFC 4180), a batch per chunk, without blank lines. A quoted cell may contain line ends. Where a
 * row is wrong, only its first line is rejected and reading continues with the next line, so that a stray quote does not
 * swallow the rows that follow.
 */
export async function* readCsvRows(
  batches: AsyncIterable<readonly NumberedText[]>,
): AsyncGenerator<readonly (CsvRow | RejectedRecord)[]> {
  let unfinished: readonly NumberedText[] = [];
  for await (const batch of batches) {
    const lines = [...unfinished, ...batch];
    const taken = takeRows(lines, false);
    unfinished = lines.slice(taken.lineCount);
    yield taken.rows;
  }
  yield takeRows(unfinished, true).rows;
}

interface TakenRows {
  readonly rows: readonly (CsvRow | RejectedRecord)[];
  /** How many lines the rows take; less than all where the last row continues in the next batch. */
  readonly lineCount: number;
}

/** @param isEnd whether nothing follows */
function takeRows(lines: readonly NumberedText[], isEnd: boolean): TakenRows {
  // Without quotes there is nothing to parse, which takes a fifth of the time.
  if (lines.every(({ text }) => !text.includes('"'))) return { rows: splitCells(lines), lineCount: lines.length };
  const rows: (CsvRow | RejectedRecord)[] = [];
  /** Parsed together, which is ten times as fast. Where that fails, they are read again one by one, to find the wrong row. */
  let together: JoinedRow[] = [];
  let start = 0;
  let isCareful = false;
  for (let i = 0; ; ) {
    const first = lines[i];
    const row = first && joinLines(lines, i);
    if (row !== undefined) {
      const taken = isCareful ? parseRow(row) : undefined;
      if (taken !== undefined) rows.push(taken);
      else if (row.text.trim() !== '') together.push(row);
      i += taken !== undefined && 'reason' in taken ? 1 : row.lines.length;
      continue;
    }
    const parsed = parseRows(together);
    if (parsed === undefined) {
      isCareful = true;
      i = start;
    } else {
      for (const taken of parsed) rows.push(taken);
      if (first === undefined || (!isEnd && lengthFrom(lines, i) <= ROW_LENGTH_MAX)) return { rows, lineCount: i };
      rows.push({ line: first.line, reason: NOT_CLOSED });
      start = ++i;
    }
    together = [];
  }
}

const splitCells = (lines: readonly NumberedText[]): readonly CsvRow[] =>
  lines
    .filter(({ text }) => text.trim() !== '')
    .map(({ line, text }) => ({ line, cells: text.split(',').map((cell) => cell.trim()) }));

interface JoinedRow {
  readonly lines: readonly NumberedText[];
  readonly text: string;
}

/** Joins lines until each quote is closed; `undefined` where one is not closed. */
function joinLines(lines: readonly NumberedText[], start: number): JoinedRow | undefined {
  let text = '';
  let quoteCount = 0;
  for (let i = start; i < lines.length && text.length <= ROW_LENGTH_MAX; i++) {
    const line = lines[i] as NumberedText; // within the array's length
    text = i === start ? line.text : `${text}\n${line.text}`;
    quoteCount += countQuotes(line.text);
    if (quoteCount % 2 === 0) return { lines: lines.slice(start, i + 1), text };
  }
  return undefined;
}

function countQuotes(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) count++;
  return count;
}

function lengthFrom(lines: readonly NumberedText[], start: number): number {
  let length = 0;
  for (let i = start; i < lines.length; i++) length += lines[i]?.text.length ?? 0;
  return length;
}

/** @returns `undefined` where one of them is wrong */
function parseRows(rows: readonly JoinedRow[]): readonly CsvRow[] | undefined {
  const records = parseText(rows.map(({ text }) => text).join('\n'));
  if (records?.length !== rows.length) return undefined;
  return rows.map((row, i) => ({ line: lineOf(row), cells: records[i] ?? [] }));
}

/** @returns `undefined` for a blank one */
function parseRow(row: JoinedRow): CsvRow | RejectedRecord | undefined {
  if (row.text.trim() === '') return undefined;
  const line = lineOf(row);
  const [cells, ...others] = parseText(row.text) ?? [];
  return cells !== undefined && others.length === 0 ? { line, cells } : { line, reason: MISPLACED };
}

/** `undefined` where the text is no CSV. */
function parseText(text: string): string[][] | undefined {
  try {
    return parse(text, { record_delimiter: '\n', relax_column_count: true, trim: true });
  } catch {
    return undefined;
  }
}

const lineOf = ({ lines: [first] }: JoinedRow): number => first?.line ?? 0;
