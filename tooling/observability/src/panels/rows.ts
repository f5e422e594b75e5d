import { POSTGRES_ROW, REDIS_ROW } from './backends.ts';
import { LIMITS_ROW, REQUEST_ROW } from './callers.ts';
import { OVERVIEW_ROW } from './overview.ts';
import type { Row } from './panel.ts';
import { IN_FLIGHT_ROW, PROCESS_ROW } from './servers.ts';

export const ROWS: readonly Row[] = [
  OVERVIEW_ROW,
  REQUEST_ROW,
  LIMITS_ROW,
  REDIS_ROW,
  POSTGRES_ROW,
  IN_FLIGHT_ROW,
  PROCESS_ROW,
];
