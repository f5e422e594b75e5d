import { FIGURES, type Figures } from './scenarios.ts';
import type { Contender } from './servers.ts';

export interface Result {
  readonly title: string;
  readonly rounds: readonly Readonly<Record<Contender, Figures>>[];
}
type Read = (round: Result['rounds'][number], name: keyof Figures) => number;

/** Of an even number of values, the lower one in the middle. */
const median = (values: readonly number[]): number =>
  threeDigits(values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN);
const threeDigits = (value: number): number => Number(value.toPrecision(3));
const halfRangePercent = (values: readonly number[]): number =>
  threeDigits(((Math.max(...values) - Math.min(...values)) / 2 / median(values)) * 100);

/** Makes one value of those that are read from the rounds, for each figure. */
function summarize({ rounds }: Result, read: Read, statistic = median): Figures {
  const summary = FIGURES.map((name) => [name, statistic(rounds.map((round) => read(round, name)))] as const);
  return Object.fromEntries(summary) as Figures; // it has each name
}

/** The rows for `console.table`: medians of the rounds, and how much the ratio varies. */
export function tabulate(result: Result) {
  const ratio: Read = ({ service, baseline }, name) => service[name] / baseline[name];
  return {
    service: summarize(result, ({ service }, name) => service[name]),
    baseline: summarize(result, ({ baseline }, name) => baseline[name]),
    ratio: summarize(result, ratio),
    'ratio ± %': summarize(result, ratio, halfRangePercent),
  };
}

/** The parts of a bar. */
const PROCESSES = [
  { figure: 'CPU ms', name: 'server', color: '#2563eb' },
  { figure: 'of PostgreSQL', name: 'PostgreSQL', color: '#0d9488' },
  { figure: 'of Redis', name: 'Redis', color: '#f59e0b' },
] as const;
/** The columns beside the bars. */
const COLUMNS = ['requests/s', 'first byte ms', 'peak MB'] as const;

const text = (x: number, y: number, content: string | number, attributes = '') =>
  `<text x="${x}" y="${y}"${attributes}>${content.toLocaleString('en')}</text>`;
const box = (x: number, y: number, width: number, color: string) =>
  `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="14" fill="${color}"/>`;
const cell = (column: number, y: number, content: string | number) =>
  text(640 + column * 82, y, content, ' text-anchor="end"');

/** Draws the processor time of a request as SVG, each scenario to a scale of its own. @param footer a last line */
export function draw(results: readonly Result[], footer: string): string {
  const height = 70 + results.length * 70;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="820" height="${height}" font-family="sans-serif" font-size="13">`,
    '<title>What requests cost</title>',
    `<rect width="820" height="${height}" fill="white"/>`,
    text(12, 26, 'Processor time of a request:'),
    ...PROCESSES.flatMap(({ name, color }, i) => [box(195 + i * 100, 15, 14, color), text(214 + i * 100, 26, name)]),
    ...COLUMNS.map((name, i) => cell(i, 26, name)),
    ...results.flatMap((result, i) => drawScenario(result, 45 + i * 70)),
    text(12, height - 12, footer, ' fill="#555"'),
    '</svg>\n',
  ].join('\n');
}

function drawScenario(result: Result, top: number): readonly string[] {
  const totalMs = (figures: Figures) => PROCESSES.reduce((sum, { figure }) => sum + figures[figure], 0);
  const { service, baseline } = tabulate(result);
  const scale = 400 / Math.max(totalMs(service), totalMs(baseline)); // the longer bar has this width
  const lines = Object.entries({ service, baseline }).flatMap(([name, figures], row) => {
    const y = top + 22 + row * 20;
    let x = 80;
    const boxes = PROCESSES.map(({ figure, color }) => {
      x += figures[figure] * scale;
      return box(x - figures[figure] * scale, y, figures[figure] * scale, color);
    });
    const label = text(x + 6, y + 11, `${threeDigits(totalMs(figures)).toLocaleString('en')} ms`);
    return [text(12, y + 11, name), ...boxes, label, ...COLUMNS.map((column, i) => cell(i, y + 11, figures[column]))];
  });
  return [text(12, top + 12, result.title, ' font-weight="bold"'), ...lines];
}
