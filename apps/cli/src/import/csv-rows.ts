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
  const rows: (CsvRow | RejectedRecord)[] = [];
  let sound: JoinedRow[] = [];
  let i = 0;
  for (let first = lines[i]; first !== undefined; first = lines[i]) {
    const row = joinLines(lines, i);
    if (row === undefined && !isEnd && lengthFrom(lines, i) <= ROW_LENGTH_MAX) break;
    if (row === undefined) {
      rows.push(...parseRows(sound), { line: first.line, reason: NOT_CLOSED });
      sound = [];
    } else if (row.text.trim() !== '') sound.push(row);
    i += row?.lines.length ?? 1;
  }
  rows.push(...parseRows(sound));
  return { rows, lineCount: i };
}

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

/** All at once, which is ten times as fast; one by one where that fails, to find the wrong row. */
function parseRows(rows: readonly JoinedRow[]): readonly (CsvRow | RejectedRecord)[] {
  const records = rows.length === 0 ? [] : parseText(rows.map(({ text }) => text).join('\n'));
  if (records?.length !== rows.length) return rows.flatMap(parseRow);
  return rows.map(({ lines }, i) => ({ line: lineOf(lines), cells: records[i] ?? [] }));
}

function parseRow({ lines, text }: JoinedRow): readonly (CsvRow | RejectedRecord)[] {
  const [cells, ...others] = parseText(text) ?? [];
  const line = lineOf(lines);
  if (cells !== undefined && others.length === 0) return [{ line, cells }];
  return [{ line, reason: MISPLACED }, ...takeRows(lines.slice(1), true).rows];
}

/** `undefined` where the text is no CSV. */
function parseText(text: string): string[][] | undefined {
  try {
    return parse(text, { record_delimiter: '\n', relax_column_count: true, trim: true });
  } catch {
    return undefined;
  }
}

const lineOf = ([first]: readonly NumberedText[]): number => first?.line ?? 0;
