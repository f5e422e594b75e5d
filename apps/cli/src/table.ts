import Table from 'cli-table3';
import { describeTime } from './relative-time.ts';

/** `null` is shown as a dash. Numbers are aligned to the right. */
export type Cell = string | number | bigint | Date | null;

export interface TableOptions {
  /** The width of the terminal, in characters. `undefined`: a program reads it, so that times and numbers are whole. */
  readonly columns: number | undefined;
  /** The column that takes what the others leave of the terminal, and is cut there. */
  readonly flexible?: string;
  /** Whether the names of the columns stand above the rows. @default true */
  readonly hasHead?: boolean;
}

const GAP = 2;
/** Of the flexible column, however narrow the terminal is. */
const WIDTH_MIN = 8;

/** Rows under the names of their properties: aligned on a terminal, and separated by tabs for a program. */
export function renderTable(rows: readonly Readonly<Record<string, Cell>>[], options: TableOptions): string {
  const { columns, flexible, hasHead = true } = options;
  const names = Object.keys(rows[0] ?? {});
  const cells = rows.map((row) => names.map((name) => textOf(row[name] ?? null, columns !== undefined)));
  if (columns === undefined) return (hasHead ? [names, ...cells] : cells).map((row) => `${row.join('\t')}\n`).join('');
  const head = names.map((name) => name.replace(/[A-Z]/g, ' $&').toUpperCase());
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)) + GAP);
  const rest = columns + GAP - widths.reduce((sum, width, i) => (names[i] === flexible ? sum : sum + width), 0);
  return align(cells, {
    head: hasHead ? head : [],
    colAligns: names.map((name) => (rows.some((row) => isNumber(row[name])) ? 'right' : 'left')),
    colWidths: widths.map((width, i) =>
      names[i] === flexible ? Math.min(width, Math.max(WIDTH_MIN + GAP, rest)) : width,
    ),
  });
}

/** The facts of one thing for a person, a line for each. */
export const renderFields = (fields: Readonly<Record<string, string | null>>): string =>
  align(Object.entries(fields).map(([name, text]) => [name, textOf(text, true)]));

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right'].flatMap((place) =>
    [place, `${place}-mid`, `${place}-left`, `${place}-right`].map((name) => [name, '']),
  ),
);

function align(cells: string[][], options: Table.TableConstructorOptions = {}): string {
  const style = { head: [], border: [], 'padding-left': 0, 'padding-right': GAP };
  const table = new Table({ ...options, chars: { ...NO_LINES, middle: '' }, style });
  table.push(...cells);
  return table.toString().replace(/ +$/gm, '').concat('\n');
}

const isNumber = (cell: Cell | undefined): boolean => typeof cell === 'number' || typeof cell === 'bigint';

function textOf(cell: Cell, isForPerson: boolean): string {
  if (cell === null) return '-';
  if (cell instanceof Date) return isForPerson ? describeTime(cell, new Date()) : cell.toISOString();
  if (typeof cell === 'number' && isForPerson) return cell.toLocaleString('en');
  return String(cell).replace(/\p{Cc}/gu, '?'); // a name may hold control characters, which a terminal must not obey
}
