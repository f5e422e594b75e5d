import type { Result } from './compare.ts';

interface Column {
  readonly label: string;
  readonly text: (result: Result) => string;
}

const NAME: Column = { label: 'Limiter', text: ({ name }) => name };
const times = (value: number): string => `${value.toFixed(2)}×`;
const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);
const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / (values.length || 1);

const ADMITTED: readonly Column[] = [
  NAME,
  { label: 'steady traffic', text: ({ worst }) => times(worst.steady) },
  { label: 'bursts at a boundary', text: ({ worst }) => times(worst.boundary) },
  { label: 'a burst, then 57 a minute', text: ({ worst }) => times(worst.trickle) },
  { label: 'a burst from 8 processes', text: ({ worst }) => times(worst.processes) },
  { label: 'Redis restarts empty', text: ({ worst }) => times(worst.restart) },
  { label: 'requests that failed then', text: ({ failed, sent }) => `${failed} of ${sent}` },
];

const ANNOUNCED: readonly Column[] = [
  NAME,
  { label: 'refusals', text: ({ announcements }) => String(announcements.refusals) },
  { label: 'that announced a time', text: ({ announcements }) => String(announcements.announced) },
  { label: 'admitted at that time', text: ({ announcements }) => String(announcements.kept) },
  { label: 'held back, s on average', text: ({ announcements }) => seconds(average(announcements.heldBackMs)) },
  { label: 's at most', text: ({ announcements }) => seconds(Math.max(0, ...announcements.heldBackMs)) },
];

const COST: readonly Column[] = [
  NAME,
  { label: 'algorithm', text: ({ algorithm }) => algorithm },
  { label: 'µs, one by one', text: ({ cost }) => cost.aloneUs.toFixed(1) },
  { label: 'µs, 50 at once', text: ({ cost }) => cost.crowdedUs.toFixed(1) },
  { label: 'bytes after a burst', text: ({ cost }) => cost.bytes.toLocaleString('en') },
  { label: 'bytes at most', text: ({ cost }) => cost.bytesMax.toLocaleString('en') },
];

const TABLES = [
  { title: 'The highest number admitted in any 60 s, as a multiple of the limit', columns: ADMITTED },
  { title: 'What refusals announce', columns: ANNOUNCED },
  { title: 'What it takes of Redis', columns: COST },
];

export const renderText = (results: readonly Result[]): string =>
  TABLES.map(({ title, columns }) => {
    const lines = cellsOf(columns, results);
    const widths = columns.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)));
    const pad = (cell: string, i: number) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0));
    return [title, ...lines.map((cells) => cells.map(pad).join('  '))].join('\n');
  }).join('\n\n');

export const renderMarkdown = (results: readonly Result[]): string =>
  TABLES.map(({ title, columns }) => {
    const [head = [], ...rows] = cellsOf(columns, results);
    const lines = [head, columns.map((_, i) => (i === 0 ? '---' : '---:')), ...rows];
    return [`${title}:`, '', ...lines.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
  }).join('\n\n');

const cellsOf = (columns: readonly Column[], results: readonly Result[]): string[][] => [
  columns.map(({ label }) => label),
  ...results.map((result) => columns.map(({ text }) => text(result))),
];
