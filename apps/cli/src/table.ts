import type { TableConstructorOptions } from 'cli-table3';
import type { Output } from './output.ts';
import { describeMoment, describeTime } from './relative-time.ts';

/** `null` and an empty text are shown as a dash. Numbers are aligned to the right. */
type Cell = string | number | bigint | boolean | Date | null;

interface TableOptions {
  /** The column that gets the rest of the terminal's width, and is cut there. */
  readonly flexible?: string;
  /** Whether the names of the columns are printed above the rows. @default true */
  readonly hasHead?: boolean;
}

const GAP = 2;
/** The minimum width of the flexible column. */
const WIDTH_MIN = 8;
/** The library's time per row grows with the number of rows. */
const ROWS_AT_ONCE = 500;

/**
 * Prints rows under the names of their properties. On a terminal, columns are aligned, and times are relative to now.
 * Programs get all of each value, separated by tabs.
 */
export async function writeTable(
  output: Output,
  rows: readonly Readonly<Record<string, Cell>>[],
  { flexible, hasHead = true }: TableOptions = {},
): Promise<void> {
  const { columns } = output;
  const names = Object.keys(rows[0] ?? {});
  const cells = rows.map((row) => names.map((name) => textOf(row[name] ?? null, columns !== undefined)));
  if (columns === undefined) {
    const lines = hasHead ? [names, ...cells] : cells;
    return output.write(lines.map((line) => `${line.join('\t')}\n`).join(''));
  }
  const head = names.map(headOf);
  const widths = head.map(
    (title, i) => GAP + cells.reduce((width, row) => Math.max(width, widthOf(row[i])), title.length),
  );
  const rest = columns + GAP - widths.reduce((sum, width, i) => (names[i] === flexible ? sum : sum + width), 0);
  const options = {
    colAligns: names.map((name) => (rows.some((row) => isNumber(row[name])) ? 'right' : 'left')),
    colWidths: widths.map((width, i) =>
      names[i] === flexible ? Math.min(width, Math.max(WIDTH_MIN + GAP, rest)) : width,
    ),
  };
  for (let start = 0; start < cells.length; start += ROWS_AT_ONCE) {
    const page = cells.slice(start, start + ROWS_AT_ONCE);
    await writeAligned(output, page, { ...options, head: hasHead && start === 0 ? head : [] });
  }
}

/** Prints one thing for a person, with a line for each property. */
export const writeFields = (output: Output, fields: Readonly<Record<string, Cell>>): Promise<void> =>
  writeAligned(
    output,
    Object.entries(fields).map(([name, cell]) => [
      headOf(name),
      cell instanceof Date ? describeMoment(cell, new Date()) : textOf(cell, true),
    ]),
  );

const headOf = (name: string): string => name.replace(/[A-Z]/g, ' $&').toUpperCase();

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right'].flatMap((place) =>
    [place, `${place}-mid`, `${place}-left`, `${place}-right`].map((name) => [name, '']),
  ),
);

async function writeAligned(output: Output, cells: string[][], options?: TableConstructorOptions): Promise<void> {
  const { default: Table } = await import('cli-table3');
  const style = { head: [], border: [], 'padding-left': 0, 'padding-right': GAP };
  const table = new Table({ ...options, chars: { ...NO_LINES, middle: '' }, style });
  table.push(...cells);
  await output.write(`${table.toString().replace(/ +$/gm, '')}\n`);
}

/** The minimum width in columns of a terminal: East Asian characters and emojis take two. */
const widthOf = (text = ''): number => text.replace(/[\u1100-\u{10ffff}]/gu, '  ').length;

const isNumber = (cell: Cell | undefined): boolean => typeof cell === 'number' || typeof cell === 'bigint';

function textOf(cell: Cell, isForPerson: boolean): string {
  if (cell === null || cell === '') return '-';
  if (cell instanceof Date) return isForPerson ? describeTime(cell, new Date()) : cell.toISOString();
  if (typeof cell === 'number' && isForPerson) return cell.toLocaleString('en');
  return String(cell).replace(/\p{Cc}/gu, '?'); // a name may hold control characters, which a terminal must not obey
}
