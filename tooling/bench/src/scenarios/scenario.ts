import type { Lab } from '../lab/lab.ts';
import type { BenchOptions } from '../read-arguments.ts';
import type { Result } from '../report/result.ts';

export interface Scenario {
  /** How long it takes, about. */
  plannedSeconds(options: BenchOptions): number;
  /** @throws Error when an answer was wrong: figures of wrong answers mean nothing */
  run(lab: Lab): Promise<Result>;
}

/** `10000` as `10,000`. */
export const formatCount = (count: number): string => count.toLocaleString('en');

/** An order that no database of the benchmark has. */
export const UNKNOWN_ORDER = '999999999999';
