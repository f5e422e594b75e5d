import type { Figures } from './scenarios.ts';

interface Row {
  readonly name: string;
  /** The figures of each round. */
  readonly rounds: readonly Figures[];
}

/** A plain-text table with the medians of two rows, ± half their range in percent, and their ratio. */
export function renderTable(title: string, [subject, base]: readonly [Row, Row]): string {
  const columns = Object.keys(subject.rounds[0] ?? {});
  const lines = [
    [title, ...columns],
    ...[subject, base].map((row) => [`  ${row.name}`, ...columns.map((column) => renderFigure(row, column))]),
    [
      '  ratio',
      ...columns.map((column) => renderRatio(median(valuesOf(subject, column)), median(valuesOf(base, column)))),
    ],
  ];
  const widths = ['', ...columns].map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)));
  // Names are aligned to the left, figures to the right.
  const pad = (cell: string, i: number) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0));
  return lines.map((cells) => cells.map(pad).join('  ')).join('\n');
}

const valuesOf = ({ rounds }: Row, column: string): readonly number[] => rounds.map((figures) => figures[column] ?? 0);

function renderFigure(row: Row, column: string): string {
  const values = valuesOf(row, column);
  const middle = median(values);
  const figure = middle.toLocaleString('en', { maximumSignificantDigits: 3 });
  if (values.length < 2 || middle === 0) return figure;
  const halfRange = (Math.max(...values) - Math.min(...values)) / 2;
  return `${figure} ±${Math.round((halfRange / middle) * 100)} %`;
}

const renderRatio = (subject: number, base: number): string => (base === 0 ? '–' : `×${(subject / base).toFixed(2)}`);

/** @param values at least one; for an even number, the result is the mean of the middle two */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}
