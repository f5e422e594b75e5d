import type { Output } from './output.ts';
import { describeMoment, describeTime } from './relative-time.ts';

/** `null` and an empty text are shown as a dash. Numbers are aligned to the right. */
type Cell = string | number | bigint | boolean | Date | null;

interface TableOptions {
  /** The columns that share the rest of the terminal's width, and are cut there. @default none */
  readonly flexible?: readonly string[];
  /** Whether the names of the columns are printed above the rows. @default true */
  readonly hasHead?: boolean;
}

const GAP = '  ';
/** At least an ellipsis is left of a flexible column. */
const WIDTH_MIN = 1;

/**
 * Prints rows under the names of their properties. On a terminal, columns are aligned, and times are relative to now.
 * Programs get all of each value, separated by tabs.
 */
export async function writeTable(
  output: Output,
  rows: readonly Readonly<Record<string, Cell>>[],
  { flexible = [], hasHead = true }: TableOptions = {},
): Promise<void> {
  const { columns } = output;
  const names = Object.keys(rows[0] ?? {});
  const cells = rows.map((row) => names.map((name) => textOf(row[name] ?? null, columns !== undefined)));
  const head = columns === undefined ? names : names.map(headOf);
  const lines = hasHead ? [head, ...cells] : cells;
  if (columns === undefined) return output.write(lines.map((line) => `${line.join('\t')}\n`).join(''));
  const { default: widthOf } = await import('string-width');
  const whole = head.map((title, i) => cells.reduce((max, row) => Math.max(max, widthOf(row[i] ?? '')), title.length));
  const widths = fitWidths(whole, (i) => flexible.includes(names[i] ?? ''), columns);
  const format = names.map((name, i) => {
    const { [i]: width = 0 } = widths;
    const isRight = rows.some((row) => ['number', 'bigint'].includes(typeof row[name]));
    return (cell: string): string => {
      const shown = cut(cell, width, widthOf);
      const space = ' '.repeat(width - widthOf(shown));
      return isRight ? space + shown : shown + space;
    };
  });
  const text = lines
    .map(
      (line) =>
        `${format
          .map((pad, i) => pad(line[i] ?? ''))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join('');
  await output.write(text);
}

/** Narrows the widest of the flexible columns until a line fits the terminal, or nothing more can be taken from them. */
function fitWidths(widths: readonly number[], isFlexible: (column: number) => boolean, columns: number) {
  for (let max = columns; ; max--) {
    const fitted = widths.map((width, i) => (isFlexible(i) ? Math.min(width, max) : width));
    const length = fitted.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
    if (length <= columns || max <= WIDTH_MIN) return fitted;
  }
}

/** Cuts a text to a width in columns of a terminal. East Asian characters and emojis take two. */
function cut(text: string, width: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(`${shown}${segment}…`) > width) break;
    shown += segment;
  }
  return `${shown}…`;
}

/** Prints one thing for a person, with a line for each property. */
export function writeFields(output: Output, fields: Readonly<Record<string, Cell>>): Promise<void> {
  const titleWidth = Math.max(...Object.keys(fields).map((name) => headOf(name).length));
  const lines = Object.entries(fields).map(([name, cell]) => {
    const text = cell instanceof Date ? describeMoment(cell, new Date()) : textOf(cell, true);
    return `${headOf(name).padEnd(titleWidth)}${GAP}${text}\n`;
  });
  return output.write(lines.join(''));
}

const headOf = (name: string): string => name.replace(/[A-Z]/g, ' $&').toUpperCase();

function textOf(cell: Cell, isForPerson: boolean): string {
  if (cell === null || cell === '') return '-';
  if (cell instanceof Date) return isForPerson ? describeTime(cell, new Date()) : cell.toISOString();
  if (typeof cell === 'number' && isForPerson) return cell.toLocaleString('en');
  return String(cell).replace(/\p{Cc}/gu, '?'); // a name may hold control characters, which a terminal must not obey
}
