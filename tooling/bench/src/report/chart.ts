import { ratioOfMedians } from '../statistics.ts';
import type { Result } from './result.ts';

/** One bar: how many times as good as the baseline, longer being better. */
export interface Bar {
  readonly group: string;
  readonly label: string;
  readonly value: number;
}

/** The figures of the results that are compared with the baseline, turned so that more is better. */
export function makeBars(results: readonly Result[]): readonly Bar[] {
  return results.flatMap(({ title, columns, subject, base, drawn }) =>
    columns.flatMap(({ key, label, better }): readonly Bar[] => {
      if (!drawn.includes(key)) return [];
      const ratio = ratioOfMedians(subject.samples[key], base.samples[key]);
      if (ratio === undefined || ratio === 0) return [];
      return [{ group: title, label, value: better === 'higher' ? ratio : 1 / ratio }];
    }),
  );
}

const WIDTH = 880;
const LABEL_WIDTH = 390;
const VALUE_WIDTH = 60;
const BAR_HEIGHT = 16;
const BAR_GAP = 5;
const GROUP_GAP = 13;
const TOP = 66;
const BOTTOM = 34;
/** The axis goes at least as far, so that the line of the baseline is never at its end. */
const LEAST_MAX = 1.5;
/** And no further, so that one long bar does not make the others unreadable. */
const MOST_MAX = 3;

// Colours of equal weight on white and on black; the words follow the reader's scheme.
const STYLE = `
    text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
    .title { font-size: 16px; font-weight: 600; }
    .quiet { fill: #59636e; font-size: 12px; }
    .good { fill: #2f81c8; }
    .behind { fill: #c8762f; }
    .grid { stroke: #8b949e; stroke-opacity: 0.3; }
    .baseline { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 4 3; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .quiet { fill: #a2abb5; }
      .baseline { stroke: #a2abb5; }
    }`;

/** Draws bars as an SVG of its own: no font, script or picture from elsewhere. */
export function renderChart(bars: readonly Bar[]): string {
  const longest = Math.ceil(Math.max(LEAST_MAX, ...bars.map(({ value }) => value)) * 2) / 2;
  const max = Math.min(longest, MOST_MAX);
  const x = (value: number) => LABEL_WIDTH + (Math.min(value, max) / max) * (WIDTH - LABEL_WIDTH - VALUE_WIDTH);
  const cut = longest > max ? ` Bars are cut at ${max.toFixed(1)}.` : '';
  let y = TOP;
  let group = bars[0]?.group;
  const marks: string[] = [];
  for (const bar of bars) {
    const isFirst = bar === bars[0] || bar.group !== group;
    if (isFirst && bar !== bars[0]) y += GROUP_GAP;
    group = bar.group;
    marks.push(...renderBar(bar, { y, isFirst, start: x(0), end: x(bar.value) }));
    y += BAR_HEIGHT + BAR_GAP;
  }
  const height = y + BOTTOM;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">`,
    '  <title id="title">The service beside the hand-written baseline, by scenario</title>',
    `  <style>${STYLE}\n  </style>`,
    '  <text class="title" x="0" y="18">The service beside the hand-written baseline</text>',
    `  <text class="quiet" x="0" y="38">1.0 is the baseline; longer is better: more requests, less time, less work of the processor.${cut}</text>`,
    ...renderGrid(x, max, y),
    ...marks,
    '</svg>',
  ].join('\n')}\n`;
}

interface BarPlace {
  readonly y: number;
  readonly isFirst: boolean;
  readonly start: number;
  readonly end: number;
}

function renderBar({ group, label, value }: Bar, { y, isFirst, start, end }: BarPlace): readonly string[] {
  const base = y + BAR_HEIGHT - 4;
  // As good as the baseline, within what repeated runs of the same thing differ by.
  const colour = value >= 0.9 ? 'good' : 'behind';
  return [
    ...(isFirst ? [`  <text x="0" y="${base}">${escapeText(group)}</text>`] : []),
    `  <text class="quiet" x="${LABEL_WIDTH - 10}" y="${base}" text-anchor="end">${escapeText(label)}</text>`,
    `  <rect class="${colour}" x="${round(start)}" y="${y}" width="${round(end - start)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `  <text x="${WIDTH}" y="${base}" text-anchor="end">${value.toFixed(2)}</text>`,
  ];
}

function renderGrid(x: (value: number) => number, max: number, bottom: number): readonly string[] {
  const ticks = Array.from({ length: max * 2 + 1 }, (_, i) => i / 2);
  return ticks.flatMap((tick) => {
    const line = tick === 1 ? 'baseline' : 'grid';
    const at = round(x(tick));
    return [
      `  <line class="${line}" x1="${at}" x2="${at}" y1="${TOP - 8}" y2="${bottom}"/>`,
      `  <text class="quiet" x="${at}" y="${bottom + 18}" text-anchor="middle">${tick.toFixed(1)}</text>`,
    ];
  });
}

const round = (value: number): number => Math.round(value * 10) / 10;

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
