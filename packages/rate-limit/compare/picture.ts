import type { Result } from './compare.ts';

/** A panel: a bar for each contender, as long as its value. */
interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly value: (result: Result) => number;
  readonly text: (value: number) => string;
  /** Where the limit is: beyond it a bar is filled as too long. */
  readonly limit?: number;
}

const times = (value: number): string => `${value.toFixed(2)}×`;
const microseconds = (value: number): string => `${value.toFixed(1)} µs`;
const bytes = (value: number): string => `${value.toLocaleString('en')} B`;

const PANELS: readonly Panel[] = [
  { title: 'Steady traffic', unit: 'admitted in 60 s', value: ({ worst }) => worst.steady, text: times, limit: 1 },
  { title: 'At a boundary', unit: 'admitted in 60 s', value: ({ worst }) => worst.boundary, text: times, limit: 1 },
  { title: 'After a burst', unit: 'admitted in 60 s', value: ({ worst }) => worst.trickle, text: times, limit: 1 },
  { title: 'Redis restarts', unit: 'admitted in 60 s', value: ({ worst }) => worst.restart, text: times, limit: 1 },
  { title: 'Time in Redis', unit: '50 requests at once', value: ({ cost }) => cost.crowdedUs, text: microseconds },
  { title: 'Memory', unit: 'a caller, at most', value: ({ cost }) => cost.bytesMax, text: bytes },
];

const NAMES_WIDTH = 234;
const PANEL_WIDTH = 132;
const BAR_WIDTH = 70;
const ROW_HEIGHT = 30;
const HEAD_HEIGHT = 62;
const FOOT_HEIGHT = 26;
const MARGIN = 20;

/** Follows the colours of the reader's system. */
const STYLE = `
    svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0; --bar: #0a7f6b; --over: #c2410c; --own: #eef7f5 }
    @media (prefers-color-scheme: dark) {
      svg { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --rule: #3d444d; --bar: #2fb59b; --over: #f0883e; --own: #12231f }
    }
    text { font: 12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: var(--ink) }
    .title { font-weight: 600 } .faint { fill: var(--faint); font-size: 11px } .own { font-weight: 600 }
    .paper { fill: var(--paper); stroke: var(--rule) } .band { fill: var(--own) } .rule { stroke: var(--rule) }
    .limit { stroke: var(--faint); stroke-dasharray: 2 3 } .bar { fill: var(--bar) } .over { fill: var(--over) }`;

/** The picture of the comparison, as SVG. The first result is this package's, and stands out. */
export function renderPicture(results: readonly Result[]): string {
  const width = MARGIN * 2 + NAMES_WIDTH + PANEL_WIDTH * PANELS.length;
  const height = HEAD_HEIGHT + ROW_HEIGHT * results.length + FOOT_HEIGHT + MARGIN;
  const names = results.map(({ name }, row) => text(MARGIN + 8, middleOf(row), name, row === 0 ? 'own' : ''));
  const legend = 'Dotted: the limit, 60 requests in 60 s; beyond it, orange. Shorter is better in all columns.';
  const description = 'Bars for each limiter: the most it admitted in 60 s, its time in Redis and its memory there.';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${description}">
  <style>${STYLE}
  </style>
  <rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
  <rect class="band" x="${MARGIN}" y="${HEAD_HEIGHT}" width="${width - 2 * MARGIN}" height="${ROW_HEIGHT}" rx="4"/>
  <line class="rule" x1="${MARGIN}" x2="${width - MARGIN}" y1="${HEAD_HEIGHT - 6}" y2="${HEAD_HEIGHT - 6}"/>
  ${[...names, ...PANELS.flatMap((panel, column) => renderPanel(panel, column, results)), text(MARGIN + 8, height - MARGIN, legend, 'faint')].join('\n  ')}
</svg>
`;
}

function renderPanel(panel: Panel, column: number, results: readonly Result[]): string[] {
  const left = MARGIN + NAMES_WIDTH + PANEL_WIDTH * column;
  const values = results.map(panel.value);
  // Multiples of the limit have one scale in all panels.
  const longest = panel.limit === undefined ? values : results.flatMap(({ worst }) => Object.values(worst));
  const scale = BAR_WIDTH / Math.max(...longest);
  const parts = [text(left, 26, panel.title, 'title'), text(left, 43, panel.unit, 'faint')];
  for (const [row, value] of values.entries()) {
    const [y, length] = [middleOf(row) - 11, Math.max(1, value * scale)];
    const within = panel.limit === undefined ? length : Math.min(length, panel.limit * scale);
    parts.push(`<rect class="bar" x="${left}" y="${y}" width="${within.toFixed(1)}" height="14" rx="2"/>`);
    if (length > within + 0.5) {
      const over = `x="${(left + within).toFixed(1)}" y="${y}" width="${(length - within).toFixed(1)}"`;
      parts.push(`<rect class="over" ${over} height="14" rx="2"/>`);
    }
    parts.push(text(left + length + 6, middleOf(row), panel.text(value), row === 0 ? 'own' : ''));
  }
  if (panel.limit === undefined) return parts;
  const x = (left + panel.limit * scale).toFixed(1);
  return [
    ...parts,
    `<line class="limit" x1="${x}" x2="${x}" y1="${HEAD_HEIGHT - 6}" y2="${middleOf(results.length - 1) + 12}"/>`,
  ];
}

const middleOf = (row: number): number => HEAD_HEIGHT + ROW_HEIGHT * row + 19;

const text = (x: number, y: number, content: string, style: string): string =>
  `<text x="${x.toFixed(0)}" y="${y}"${style && ` class="${style}"`}>${content}</text>`;
