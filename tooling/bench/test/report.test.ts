import { describe, expect, it, test } from 'vitest';
import { type Column, median, type Result, renderTables, SampleCollector } from '../src/report.ts';

const COLUMNS: readonly Column[] = [
  { key: 'perSecond', label: 'requests/s', digits: 0 },
  { key: 'p99Ms', label: 'p99 ms', digits: 2 },
];

const resultOf = (title: string, subject: Result['subject']['samples'], base: Result['base']['samples']): Result => ({
  title,
  columns: COLUMNS,
  subject: { name: 'service', samples: subject },
  base: { name: 'baseline', samples: base },
});

const LIST = resultOf('List', { perSecond: [11_000, 10_000, 12_000], p99Ms: [4] }, { perSecond: [10_000], p99Ms: [5] });
const CANCEL = resultOf('Cancel', { perSecond: [4_000] }, { perSecond: [5_000] });

describe('tables', () => {
  it('show medians with their spread, the ratio of the upper row to the lower, and a dash where a value is missing', () => {
    expect(renderTables([LIST, CANCEL])).toBe(
      [
        'Scenario             requests/s  p99 ms',
        'List      service   11,000 ±9 %    4.00',
        '          baseline       10,000    5.00',
        '          ratio           ×1.10   ×0.80',
        'Cancel    service         4,000       –',
        '          baseline        5,000       –',
        '          ratio           ×0.80       –',
      ].join('\n'),
    );
  });

  it('leave out a column without values, and hold together what has the same columns', () => {
    const other = { ...CANCEL, columns: [...COLUMNS] };
    const tables = renderTables([CANCEL, other, CANCEL]).split('\n\n');
    expect(tables.map((table) => table.split('\n').length)).toEqual([7, 4]);
    expect(tables[1]).not.toContain('p99');
  });
});

test('the median of an even number of values is the mean of the two in the middle', () => {
  expect([median([3]), median([3, 1]), median([9, 1, 2]), median([4, 1, 3, 2])]).toEqual([3, 2, 2, 2.5]);
});

it('a figure that was not measured leaves no sample', () => {
  const collector = new SampleCollector();
  collector.add({ p99Ms: 1, cpuMs: undefined });
  collector.add({ p99Ms: 2 });
  expect(collector.samples).toEqual({ p99Ms: [1, 2] });
});
