import { userInfo } from 'node:os';
import {
  type Actor,
  type ApiKeyId,
  actor,
  describeLimits,
  hasFixedLimits,
  isApiKeyText,
  LIMIT_MAX,
  LIMIT_MIN,
  type OrderId,
  orderId,
  PLAN_NAMES,
  PLANS,
  type Plan,
  type PlanName,
  parseInt64,
  parseRfc3339,
} from '@petstore/domain';
import { parseDurationMs } from '@petstore/runtime';
import { Argument, type Command, Option } from 'commander';
import { UsageError } from './errors.ts';

/** Every command has this flag, for programs that read its output. */
export interface JsonFlag {
  readonly json?: true;
}

/** The flags of commands that change orders or keys. */
export interface ActorFlag extends JsonFlag {
  readonly as: Actor;
}

/** The option of {@link ActorFlag}. */
export const actorOption = (): Option =>
  new Option('--as <name>', 'Name to record in the audit trail')
    .default(actor('operator', userName()), 'your account')
    .argParser((text) => {
      const name = text.trim();
      if (/^[^\p{Cc}\p{Zl}\p{Zp}]{1,100}$/u.test(name)) return actor('operator', name);
      throw new UsageError('--as must be one line of 1 to 100 printable characters');
    });

/** The user's name on this machine. A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/** The argument of commands that concern one key. */
export const keyArgument = (): Argument =>
  new Argument('<ID>', 'Key ID, as "petstore keys list" shows it').argParser(apiKeyIdParser('ID'));

/** Its messages never repeat the text, which may be a whole key. @throws UsageError */
export const apiKeyIdParser =
  (name: string) =>
  (text: string): ApiKeyId => {
    if (/^[0-9A-Za-z]{8}$/.test(text)) return text as ApiKeyId; // the pattern has checked it
    const hint = isApiKeyText(text) ? '; this is a whole key: its id follows "pso_live_" or "pso_demo_"' : '';
    throw new UsageError(`${name} must be the eight letters and digits that "petstore keys list" shows${hint}`);
  };

/** @throws UsageError */
export function parseOrderId(text: string): OrderId {
  const id = parseInt64(text);
  if (id === undefined) throw new UsageError('--order must be an order ID: a whole number of 64 bits');
  return orderId(id);
}

/** @throws UsageError */
export const integerParser = (option: string, min: number, max: number) => (text: string) => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new UsageError(`${option} must be a whole number from ${min} to ${max}`);
  return value;
};

/** The options that define a plan. */
export interface PlanFlags {
  readonly plan: PlanName;
  readonly perMinute?: number;
  readonly perDay?: number;
}

const parseLimit = (option: string) => integerParser(option, LIMIT_MIN, LIMIT_MAX);

/** The plans whose keys have their own limits. */
const PLANS_WITHOUT_LIMITS = PLAN_NAMES.filter((name) => !hasFixedLimits(name)).join(', ');
const WHERE_REQUIRED = `${PLANS_WITHOUT_LIMITS} only, and required there`;

const PLANS_HELP = PLAN_NAMES.map((name) => {
  const limits = hasFixedLimits(name) ? describeLimits(PLANS[name].limits) : 'as --per-minute and --per-day say';
  return `  ${name.padEnd(10)}  ${limits}`;
}).join('\n');

/** Adds the options of {@link PlanFlags}. */
export const addPlanOptions = (command: Command): Command =>
  command
    .addOption(new Option('--plan <plan>', 'Plan (required)').choices(PLAN_NAMES).makeOptionMandatory())
    .option('--per-minute <n>', `Requests in any minute (${WHERE_REQUIRED})`, parseLimit('--per-minute'))
    .option('--per-day <n>', `Requests in any 24 hours (${WHERE_REQUIRED})`, parseLimit('--per-day'))
    .addHelpText('after', `\nPlans:\n${PLANS_HELP}`);

/** @throws UsageError unless a plan without fixed limits has both limits, and any other plan has none */
export function parsePlan({ plan, perMinute, perDay }: PlanFlags): Plan {
  if (!hasFixedLimits(plan)) {
    if (perMinute !== undefined && perDay !== undefined) return { name: plan, limits: { perMinute, perDay } };
    throw new UsageError(`the ${plan} plan needs both --per-minute and --per-day`);
  }
  if (perMinute === undefined && perDay === undefined) return { name: plan };
  throw new UsageError(
    `--per-minute and --per-day are for the ${PLANS_WITHOUT_LIMITS} plan only; the others have fixed limits`,
  );
}

/** Parses a duration from now (`30s`, `15m`, `24h`, `90d`), or a date-time of RFC 3339. @throws UsageError */
export const futureParser = (option: string, allowed: { readonly now?: true } = {}) =>
  timeParser(option, 1, (time, now) => {
    if (time < now || (time.getTime() === now.getTime() && !allowed.now)) return 'in the future';
    return time.getUTCFullYear() > 9999 ? 'before the year 10000' : undefined;
  });

/** Parses a duration before now, or a date-time of RFC 3339. @throws UsageError */
export const pastParser = (option: string) =>
  timeParser(option, -1, (time, now) => {
    if (time > now) return 'in the past';
    return time.getUTCFullYear() < 1 ? 'after the year 0' : undefined;
  });

/** @param demand the message for a time that is not in the required range */
const timeParser =
  (option: string, direction: 1 | -1, demand: (time: Date, now: Date) => string | undefined) =>
  (text: string): Date => {
    const now = new Date();
    const durationMs = parseDurationMs(text);
    const time = durationMs === undefined ? parseRfc3339(text) : new Date(now.getTime() + direction * durationMs);
    const form = 'a duration such as 30s, 15m, 24h or 90d, or a date-time such as 2027-01-31T00:00:00Z';
    const wanted = time === undefined || Number.isNaN(time.getTime()) ? form : demand(time, now);
    if (time === undefined || wanted !== undefined) throw new UsageError(`${option} must be ${wanted}`);
    return time;
  };
