import {
  type ApiKeyId,
  isApiKeyText,
  isRequestLimit,
  LIMIT_MAX,
  LIMIT_MIN,
  PLAN_NAMES,
  type Plan,
  type PlanName,
} from '@petstore/domain';
import { Option } from 'commander';
import { UsageError } from './failure.ts';
import { parseTimeToCome } from './parse-time.ts';

/** Whether a program reads what is printed. */
export interface JsonFlags {
  readonly json?: true;
}

export const jsonOption = (): Option => new Option('--json', 'print one JSON value');

/** The options that make a plan. */
export interface PlanOptions {
  readonly plan: PlanName;
  readonly perMinute?: string;
  readonly perDay?: string;
}

/** @throws UsageError unless enterprise has both limits, and the other plans none */
export function planOf({ plan, perMinute, perDay }: PlanOptions): Plan {
  if (plan === 'enterprise') {
    if (perMinute === undefined || perDay === undefined) {
      throw new UsageError('the plan enterprise needs both --per-minute and --per-day');
    }
    const limits = { perMinute: limitOf('--per-minute', perMinute), perDay: limitOf('--per-day', perDay) };
    return { name: plan, limits };
  }
  if (perMinute !== undefined || perDay !== undefined) {
    throw new UsageError(
      '--per-minute and --per-day are for the plan enterprise only; the other plans have fixed limits',
    );
  }
  return { name: plan };
}

function limitOf(option: string, text: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!isRequestLimit(value))
    throw new UsageError(`${option} must be a whole number from ${LIMIT_MIN} to ${LIMIT_MAX}`);
  return value;
}

/** @throws UsageError; never repeats the text, which may be a whole key */
export function apiKeyIdOf(text: string): ApiKeyId {
  if (/^[0-9A-Za-z]{8}$/.test(text)) return text as ApiKeyId; // has the form of one
  const hint = isApiKeyText(text)
    ? '; this is a whole key, and its id is the part behind "pso_live_" or "pso_test_"'
    : '';
  throw new UsageError(`ID must be the eight letters and digits that "keys list" shows${hint}`);
}

/** @throws UsageError where the text is no time, or not one between two times */
export function timeOf(option: string, text: string, now: Date, { orNow = false } = {}): Date {
  const time = parseTimeToCome(text, now);
  if (time === undefined || Number.isNaN(time.getTime())) {
    throw new UsageError(
      `${option} must be a duration such as 30s, 15m, 24h or 90d, or a date-time such as 2027-01-31T00:00:00Z`,
    );
  }
  if (time < now || (time.getTime() === now.getTime() && !orNow))
    throw new UsageError(`${option} must be in the future`);
  if (time.getUTCFullYear() > 9999) throw new UsageError(`${option} must be before the year 10000`);
  return time;
}

/** @throws UsageError */
export function integerOf(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new UsageError(`${option} must be a whole number from ${min} to ${max}`);
  return value;
}

export const PLAN_CHOICES: readonly string[] = PLAN_NAMES;
