import { describe, expect, it } from 'vitest';
import { makeBars, renderChart } from '../src/report/chart.ts';
import { replaceGeneratedSection } from '../src/report/generated-section.ts';
import { type Column, type Result, SampleCollector } from '../src/report/result.ts';
import { makeTables, renderMarkdown, renderText } from '../src/report/tables.ts';

const COLUMNS: readonly Column[] = [
  { key: 'perSecond', label: 'requests/s', digits: 0, better: 'higher' },
  { key: 'p99Ms', label: 'p99 ms', digits: 2, better: 'lower' },
];

const resultOf = (title: string, subject: Result['subject']['samples'], base: Result['base']['samples']): Result => ({
  title,
  columns: COLUMNS,
  subject: { name: 'service', samples: subject },
  base: { name: 'baseline', samples: base },
  drawn: ['perSecond', 'p99Ms'],
});

const LIST = resultOf('List', { perSecond: [11_000, 10_000, 12_000], p99Ms: [4] }, { perSecond: [10_000], p99Ms: [5] });
const CANCEL = resultOf('Cancel', { perSecond: [4_000] }, { perSecond: [5_000] });

describe('tables', () => {
  it('show medians with their spread, and the ratio of the upper row to the lower', () => {
    const [table] = makeTables([LIST]);
    expect(table).toEqual({
      header: ['Scenario', '', 'requests/s', 'p99 ms'],
      lines: [
        ['List', 'service', '11,000 ±9 %', '4.00'],
        ['', 'baseline', '10,000', '5.00'],
        ['', 'ratio', '×1.10', '×0.80'],
      ],
    });
  });

  it('show a dash where a value is missing, and no column where all are', () => {
    const [both] = makeTables([LIST, CANCEL]);
    expect(both?.lines[3]).toEqual(['Cancel', 'service', '4,000', '–']);
    const [alone] = makeTables([CANCEL]);
    expect(alone?.header).toEqual(['Scenario', '', 'requests/s']);
  });

  it('hold together what has the same columns', () => {
    const other = { ...LIST, columns: [...COLUMNS] };
    expect(makeTables([LIST, other, CANCEL]).map(({ lines }) => lines.length)).toEqual([6, 3]);
  });

  it('stand in even columns on a terminal', () => {
    const [table] = makeTables([CANCEL]);
    expect(table && renderText(table)).toBe(
      [
        'Scenario            requests/s',
        'Cancel    service        4,000',
        '          baseline       5,000',
        '          ratio          ×0.80',
      ].join('\n'),
    );
  });

  it('are Markdown in the document', () => {
    const [table] = makeTables([CANCEL]);
    expect(table && renderMarkdown(table).split('\n').slice(0, 3)).toEqual([
      '| Scenario |  | requests/s |',
      '| --- | --- | ---: |',
      '| Cancel | service | 4,000 |',
    ]);
  });
});

describe('the picture', () => {
  it('turns each ratio so that more is better', () => {
    expect(makeBars([LIST])).toEqual([
      { group: 'List', label: 'requests/s', value: 1.1 },
      { group: 'List', label: 'p99 ms', value: 1.25 },
    ]);
  });

  it('leaves out what was not measured and what is not to be drawn', () => {
    expect(makeBars([CANCEL])).toHaveLength(1);
    expect(makeBars([{ ...LIST, drawn: [] }])).toEqual([]);
  });

  const svg = renderChart([
    { group: 'Fast & <good>', label: 'requests/s', value: 1.5 },
    { group: 'Slow', label: 'p99 ms', value: 0.5 },
    { group: 'Far', label: 'p99 ms', value: 12 },
  ]);
  const widths = [...svg.matchAll(/<rect class="(\w+)"[^>]* width="([\d.]+)"/g)].map(([, colour, width]) => ({
    colour,
    width: Number(width),
  }));

  it('draws bars as long as their values, and cuts those that are far longer', () => {
    expect(widths.map(({ colour }) => colour)).toEqual(['good', 'behind', 'good']);
    expect((widths[0]?.width ?? 0) / (widths[1]?.width ?? 1)).toBeCloseTo(3, 1);
    expect((widths[2]?.width ?? 0) / (widths[1]?.width ?? 1)).toBeCloseTo(6, 1);
    expect(svg).toContain('Bars are cut at 3.0.');
    expect(svg).toContain('>12.00</text>');
  });

  it('is XML whatever the titles hold, and fetches nothing', () => {
    expect(svg).toContain('Fast &amp; &lt;good&gt;');
    expect(svg).not.toMatch(/href|url\(|<script|<image/);
  });
});

describe('the generated section', () => {
  const [begin, end] = ['begin', 'end'].map((word) => `<!-- written by \`pnpm bench --write\`: ${word} -->`);

  it('is replaced, and nothing else is', () => {
    const text = `# Words\n\n${begin}\nold\n${end}\n\nmore words\n`;
    const once = replaceGeneratedSection(text, 'new');
    expect(once).toBe(`# Words\n\n${begin}\n\nnew\n\n${end}\n\nmore words\n`);
    expect(replaceGeneratedSection(once, 'new')).toBe(once);
  });

  it.each([
    ['no marks', 'words'],
    ['no end', `${begin}\nold`],
    ['the end first', `${end}\nold\n${begin}`],
    ['two beginnings', `${begin}\n${begin}\n${end}`],
  ])('is not written into a text with %s', (_name, text) => {
    expect(() => replaceGeneratedSection(text, 'new')).toThrow('once each and in this order');
  });
});

it('a figure that a machine does not tell leaves no sample', () => {
  const collector = new SampleCollector();
  collector.add({ p99Ms: 1, cpuMs: undefined });
  collector.add({ p99Ms: 2 });
  expect(collector.samples).toEqual({ p99Ms: [1, 2] });
});
