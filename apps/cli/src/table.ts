import { describeTime } from './relative-time.ts';

/** `null` is shown as a dash. Numbers are aligned to the right. */
type Cell = string | number | bigint | Date | null;

type TableRow = Readonly<Record<string, Cell>>;

/** How a table fits a terminal. */
interface TableFit {
  /** The width of the terminal, in characters. `undefined`: a program reads it, so that times and numbers are whole. */
  readonly columns: number | undefined;
  /** The moment that times are shown relative to. */
  readonly now: Date;
  /** Texts that are shortened where it is too wide, the first ones first: each to so many characters at least. */
  readonly shorten?: Readonly<Record<string, number>>;
  /** Columns that are left out where that does not do, the first ones first. */
  readonly omit?: readonly string[];
}

interface Column {
  readonly name: string;
  readonly isNumber: boolean;
  readonly width: number;
}

const GAP = '  ';

/** Rows as a table, under the names of their properties. */
export const renderTable = (rows: readonly TableRow[], fit: TableFit): string => startTable(fit)(rows);

/** A table whose rows come a batch at a time: the first one decides how wide it is, and later ones may widen it. */
export function startTable(fit: TableFit): (rows: readonly TableRow[]) => string {
  let columns: readonly Column[] | undefined;
  return (rows) => {
    const texts = rows.map((row) => textsOf(row, fit));
    const isFirst = columns === undefined;
    columns = columns === undefined ? layOut(rows, texts, fit) : widen(columns, texts);
    const head = Object.fromEntries(columns.map(({ name }) => [name, headOf(name, fit)]));
    return (isFirst ? [head, ...texts] : texts).map((line) => renderLine(line, columns ?? [])).join('');
  };
}

/** The facts of one thing for a person, a line for each. */
export function renderFields(fields: Readonly<Record<string, string | null>>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  const lines = Object.entries(fields).map(([name, text]) => `${name.padEnd(width)}${GAP}${printable(text ?? '-')}\n`);
  return lines.join('');
}

/** A name may hold control characters, which a terminal must not obey. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, '?');

type Texts = Readonly<Record<string, string>>;

const textsOf = (row: TableRow, fit: Pick<TableFit, 'columns' | 'now'>): Texts =>
  Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, textOf(cell, fit)]));

function textOf(cell: Cell, { columns, now }: Pick<TableFit, 'columns' | 'now'>): string {
  if (cell === null) return '-';
  if (cell instanceof Date) return columns === undefined ? cell.toISOString() : describeTime(cell, now);
  if (typeof cell === 'number' && columns !== undefined) return cell.toLocaleString('en');
  return printable(String(cell));
}

const headOf = (name: string, { columns }: TableFit): string =>
  columns === undefined ? name : name.replace(/[A-Z]/g, ' $&').toUpperCase();

function layOut(rows: readonly TableRow[], texts: readonly Texts[], fit: TableFit): readonly Column[] {
  const columns = Object.keys(rows[0] ?? {}).map((name) => ({
    name,
    isNumber: rows.some((row) => typeof row[name] === 'number' || typeof row[name] === 'bigint'),
    width: headOf(name, fit).length,
  }));
  return fitted(widen(columns, texts), fit);
}

const widen = (columns: readonly Column[], texts: readonly Texts[]): readonly Column[] =>
  columns.map((column) => ({
    ...column,
    width: texts.reduce((width, line) => Math.max(width, lengthOf(line[column.name] ?? '')), column.width),
  }));

function fitted(columns: readonly Column[], fit: TableFit): readonly Column[] {
  const { columns: available = Number.POSITIVE_INFINITY, shorten = {}, omit = [] } = fit;
  let excess = columns.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length) - available;
  const shortened = new Map<string, number>();
  for (const [name, least] of Object.entries(shorten)) {
    const { width = 0 } = columns.find((column) => column.name === name) ?? {};
    const narrower = Math.max(Math.min(width, Math.max(least, headOf(name, fit).length)), width - Math.max(0, excess));
    shortened.set(name, narrower);
    excess -= width - narrower;
  }
  const [omitted, ...rest] = omit;
  if (excess > 0 && omitted !== undefined) {
    return fitted(
      columns.filter(({ name }) => name !== omitted),
      { ...fit, omit: rest },
    );
  }
  return columns.map((column) => ({ ...column, width: shortened.get(column.name) ?? column.width }));
}

const renderLine = (line: Texts, columns: readonly Column[]): string =>
  `${columns
    .map(({ name, isNumber, width }) => {
      const text = cut(line[name] ?? '', width);
      const space = ' '.repeat(width - lengthOf(text));
      return isNumber ? space + text : text + space;
    })
    .join(GAP)
    .trimEnd()}\n`;

const lengthOf = (text: string): number => [...text].length;

const cut = (text: string, width: number): string =>
  lengthOf(text) <= width ? text : `${[...text].slice(0, width - 1).join('')}…`;
