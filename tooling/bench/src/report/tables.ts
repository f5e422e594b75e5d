import { median, ratioOfMedians, spread } from '../statistics.ts';
import type { Column, Result, Samples } from './result.ts';

/** Cells as they are shown. Numbers stand right, the first two columns left. */
export interface Table {
  readonly header: readonly string[];
  readonly lines: readonly (readonly string[])[];
}

const NAME_COLUMNS = 2;
const UNKNOWN = '–';

/** One table for the results that share their columns, in the order in which they came. */
export function makeTables(results: readonly Result[]): readonly Table[] {
  const groups = Map.groupBy(results, ({ columns }) => columns);
  return [...groups].map(([columns, group]) => makeTable(columns, group));
}

function makeTable(columns: readonly Column[], results: readonly Result[]): Table {
  const known = columns.filter(({ key }) => results.some(({ subject }) => subject.samples[key] !== undefined));
  return {
    header: ['Scenario', '', ...known.map(({ label }) => label)],
    lines: results.flatMap(({ title, subject, base }) => [
      [title, subject.name, ...known.map((column) => figure(column, subject.samples))],
      ['', base.name, ...known.map((column) => figure(column, base.samples))],
      ['', 'ratio', ...known.map(({ key }) => ratio(subject.samples[key], base.samples[key]))],
    ]),
  };
}

function figure({ key, digits }: Column, samples: Samples): string {
  const values = samples[key];
  if (values === undefined) return UNKNOWN;
  const number = median(values).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const share = spread(values);
  return share === undefined ? number : `${number} ±${Math.round(share * 100)} %`;
}

function ratio(values: readonly number[] | undefined, base: readonly number[] | undefined): string {
  const value = ratioOfMedians(values, base);
  return value === undefined ? UNKNOWN : `×${value.toFixed(2)}`;
}

/** For a terminal: columns of even width. */
export function renderText({ header, lines }: Table): string {
  const all = [header, ...lines];
  const widths = header.map((_, i) => Math.max(...all.map((cells) => cells[i]?.length ?? 0)));
  const pad = (cell: string, i: number) =>
    i < NAME_COLUMNS ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0);
  return all.map((cells) => cells.map(pad).join('  ').trimEnd()).join('\n');
}

export function renderMarkdown({ header, lines }: Table): string {
  const rule = header.map((_, i) => (i < NAME_COLUMNS ? '---' : '---:'));
  return [header, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
