/** One figure of a table. */
export interface Column {
  readonly key: string;
  readonly label: string;
  /** Digits after the point. */
  readonly digits: number;
}

/** The values of each figure, one for each round. A figure that this machine does not measure has none. */
type Samples = Readonly<Record<string, readonly number[]>>;

interface Row {
  readonly name: string;
  readonly samples: Samples;
}

/** What one scenario measured of two things that do the same. */
export interface Result {
  readonly title: string;
  /** Results with the same columns share a table. */
  readonly columns: readonly Column[];
  readonly subject: Row;
  /** What the subject is compared with. */
  readonly base: Row;
}

const UNKNOWN = '–';

/** Collects the samples of one row. */
export class SampleCollector {
  readonly samples: Record<string, number[]> = {};

  add(values: Readonly<Record<string, number | undefined>>): void {
    for (const [key, value] of Object.entries(values)) {
      if (value === undefined) continue;
      this.samples[key] ??= [];
      this.samples[key].push(value);
    }
  }
}

/** Tables in plain text: medians, ± half the range in percent, and the ratio of the subject to its base. */
export function renderTables(results: readonly Result[]): string {
  const groups = Map.groupBy(results, ({ columns }) => columns);
  return [...groups].map(([columns, group]) => renderTable(columns, group)).join('\n\n');
}

function renderTable(columns: readonly Column[], results: readonly Result[]): string {
  const known = columns.filter(({ key }) => results.some(({ subject }) => subject.samples[key] !== undefined));
  const lines = [
    ['Scenario', '', ...known.map(({ label }) => label)],
    ...results.flatMap(({ title, subject, base }) => [
      [title, subject.name, ...known.map((column) => renderFigure(column, subject.samples))],
      ['', base.name, ...known.map((column) => renderFigure(column, base.samples))],
      ['', 'ratio', ...known.map(({ key }) => renderRatio(subject.samples[key], base.samples[key]))],
    ]),
  ];
  const widths = lines[0]?.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0))) ?? [];
  // Names are aligned left, figures right.
  const pad = (cell: string, i: number) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0));
  return lines.map((cells) => cells.map(pad).join('  ').trimEnd()).join('\n');
}

function renderFigure({ key, digits }: Column, samples: Samples): string {
  const values = samples[key];
  if (values === undefined) return UNKNOWN;
  const middle = median(values);
  const figure = middle.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (values.length < 2 || middle === 0) return figure;
  const halfRange = (Math.max(...values) - Math.min(...values)) / 2;
  return `${figure} ±${Math.round((halfRange / middle) * 100)} %`;
}

function renderRatio(values: readonly number[] | undefined, base: readonly number[] | undefined): string {
  if (values === undefined || base === undefined || median(base) === 0) return UNKNOWN;
  return `×${(median(values) / median(base)).toFixed(2)}`;
}

/** @param values at least one; of an even number the mean of the two in the middle */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [lower = Number.NaN, upper = lower] = sorted.slice(sorted.length % 2 === 0 ? middle - 1 : middle, middle + 1);
  return (lower + upper) / 2;
}
