import { crowd } from './crowd.ts';
import { growth } from './growth.ts';
import { besideLongList, longList } from './long-list.ts';
import { processes } from './processes.ts';
import { cancelPending, cancelUnknown, listOf10Thousand, listOf20, refuseRequests } from './request-load.ts';
import type { Scenario } from './scenario.ts';
import { start } from './start.ts';
import { trpcList } from './trpc-list.ts';

/** All scenarios by the names that `--only` takes, in the order in which they run. */
export const SCENARIOS = {
  'list-20': listOf20,
  cancel: cancelPending,
  'cancel-unknown': cancelUnknown,
  refused: refuseRequests,
  'list-10k': listOf10Thousand,
  'list-1m': longList,
  growth,
  'beside-1m': besideLongList,
  'crowd-1m': crowd,
  'trpc-1m': trpcList,
  start,
  processes,
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as readonly ScenarioName[]; // Object.keys forgets the names
