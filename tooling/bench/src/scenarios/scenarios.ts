import type { BenchEnvironment } from '../environment/bench-environment.ts';
import type { Result } from '../report.ts';
import { longList, trpcList } from './long-list.ts';
import { cancelPending, cancelUnknown, listOf10Thousand, listOf20, refuseRequests } from './request-load.ts';

/** All scenarios by the names that `--only` takes, in the order in which they run. Each throws where a response was wrong. */
export const SCENARIOS = {
  'list-20': listOf20,
  cancel: cancelPending,
  'cancel-unknown': cancelUnknown,
  refused: refuseRequests,
  'list-10k': listOf10Thousand,
  'list-1m': longList,
  'trpc-1m': trpcList,
} as const satisfies Record<string, (environment: BenchEnvironment) => Promise<Result>>;

export type ScenarioName = keyof typeof SCENARIOS;
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as readonly ScenarioName[]; // Object.keys forgets the names
