import { readFileSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { TELLS_COST } from '../lab/process-cost.ts';
import type { Machine } from '../machine.ts';
import type { BenchOptions } from '../read-arguments.ts';
import { median } from '../statistics.ts';
import { makeBars, renderChart } from './chart.ts';
import { replaceGeneratedSection } from './generated-section.ts';
import type { Result } from './result.ts';
import { makeTables, renderMarkdown } from './tables.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const DOCUMENT = resolve(ROOT, 'docs/performance.md');
const CHART = resolve(ROOT, 'docs/performance.svg');

/** Everything that is said about one run. */
export interface Run {
  readonly options: BenchOptions;
  readonly results: readonly Result[];
  readonly machine: Machine;
  /** See `Lab.othersShares`. */
  readonly othersShares: readonly number[];
  readonly date: Date;
}

/** Where, when and how it was measured, a sentence a line. */
export function describeRun({ options, machine, othersShares, date }: Run): readonly string[] {
  const { rounds, seconds } = options;
  const { processors, memory, system, node, postgres, redis } = machine;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  return [
    `Measured on ${date.toISOString().slice(0, 10)}: ${processors}, ${memory}, ${system}; Node ${node}, PostgreSQL ${postgres}, Redis ${redis}.`,
    `${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} of ${seconds} s${rounds === 1 ? '' : ', ± half the range'}.`,
    othersShares.length > 0
      ? `Other programs took ${percent(median(othersShares))} of the machine meanwhile in the median, and ${percent(Math.max(...othersShares))} at worst.`
      : '',
    TELLS_COST
      ? ''
      : 'This machine does not tell what single processes cost (no /proc), so those columns are left out.',
  ].filter((line) => line !== '');
}

/** Writes the generated section and the picture. @returns the files, relative to the root */
export function writeDocumentation(run: Run): readonly string[] {
  const bars = makeBars(run.results);
  const section = [
    ...(bars.length > 0 ? ['![The service beside the baseline, by scenario](performance.svg)'] : []),
    describeRun(run).join('\n'),
    ...makeTables(run.results).map(renderMarkdown),
  ].join('\n\n');
  writeFileSync(DOCUMENT, replaceGeneratedSection(readFileSync(DOCUMENT, 'utf8'), section));
  if (bars.length > 0) writeFileSync(CHART, renderChart(bars));
  return [DOCUMENT, ...(bars.length > 0 ? [CHART] : [])].map((file) => relative(ROOT, file));
}
