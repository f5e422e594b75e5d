import fc from 'fast-check';
import { vi } from 'vitest';
import { advance, decide, newState, read, type State } from '../../src/algorithm.ts';
import type {
  BannedDecision,
  RateLimitDecision,
  RateLimiter,
  RateLimitSnapshot,
  RateLimitStatus,
  Subject,
} from '../../src/index.ts';
import { refusalsMaxOf } from '../../src/subject.ts';

/** Runs of each property; a longer run is `PETSTORE_PROPERTY_RUNS=20000`. fast-check prints the seed of a failure. */
export const PROPERTY_RUNS = Number(process.env['PETSTORE_PROPERTY_RUNS'] || 120);
// A longer run may take longer.
vi.setConfig({ testTimeout: Math.max(120_000, PROPERTY_RUNS * 500) });

/** Any moment of 50 days. */
const START_MS = 1_700_000_000_000;
export const startMs = fc.integer({ min: START_MS, max: START_MS + 2 ** 32 });

let serial = 0;
/** A known caller that no other test uses. */
export const newKey = (perMinute: number, perDay: number): Subject => ({ name: `key:${serial++}`, perMinute, perDay });

/** An unknown one. */
export const newAddress = (): Subject => ({ name: `address:${serial++}`, perMinute: 60, perDay: undefined });

/** One request, `gapMs` after the one before. */
export interface Request {
  readonly gapMs: number;
  readonly cost: number;
  /** The plan from here on, as shares of the first one. */
  readonly planShare?: number | undefined;
}

const forward = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 1_500 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1_900, max: 61_500 }) },
  { weight: 1, arbitrary: fc.constantFrom(999, 1_000, 1_001, 2_000, 2_001, 59_999, 60_000, 60_001, 299_999, 300_000) },
  { weight: 2, arbitrary: fc.integer({ min: 60_000, max: 700_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3_000_000, max: 90_000_000 }) },
);
const backward = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -60_000, max: -1 }) },
  { weight: 1, arbitrary: fc.constantFrom(-59_999, -60_000, -60_001) },
  { weight: 2, arbitrary: fc.integer({ min: -100_000_000, max: -60_001 }) },
);

interface TrafficOptions {
  /** Whether the clock may step back. @default false */
  readonly stepsBack?: boolean;
  /** Whether limits may change on the way. @default false */
  readonly changesPlan?: boolean;
  /** Whether some of it is a caller that does not wait, for long enough to be banned. @default false */
  readonly hammers?: boolean;
}

/** What comes in for one subject: bursts, trickles, silences. */
export function traffic(options: TrafficOptions = {}): fc.Arbitrary<Request[]> {
  const { stepsBack = false, changesPlan = false, hammers = false } = options;
  const gapMs = stepsBack ? fc.oneof({ weight: 12, arbitrary: forward }, { weight: 1, arbitrary: backward }) : forward;
  const cost = fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
  );
  const planShare = changesPlan
    ? fc.oneof(
        { weight: 20, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.double({ min: 0.1, max: 2, noNaN: true }) },
      )
    : fc.constant(undefined);
  const requests = fc.array(fc.record({ gapMs, cost, planShare }), { minLength: 20, maxLength: 250, size: 'max' });
  if (!hammers) return requests;
  const hammer = fc
    .record({ gapMs: fc.integer({ min: 0, max: 60 }), times: fc.integer({ min: 240, max: 400 }) })
    .map(({ gapMs, times }) => Array.from({ length: times }, (): Request => ({ gapMs, cost: 1 })));
  return fc
    .tuple(requests, fc.option(hammer, { freq: 3, nil: [] }), fc.nat(), fc.boolean())
    .map(([calm, hammering, at, isOften]) => {
      const i = at % calm.length;
      return [...calm.slice(0, i), ...hammering, ...calm.slice(i), ...(isOften ? hammering : [])];
    });
}

/** Limits from the smallest to those that are never reached. */
export const limits = fc.record({
  perMinute: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.constantFrom(29, 60, 300, 1_000_000_000)),
  perDay: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(100, 1_000, 1_000_000_000)),
});

/** A request as it comes to the limiter. */
export interface Arrival {
  readonly subject: Subject;
  readonly cost: number;
  readonly nowMs: number;
}

/** Walks along the requests; costs are cut to what the limits could ever admit. */
export function* arrivals(first: Subject, requests: readonly Request[], fromMs: number): Generator<Arrival> {
  let nowMs = fromMs;
  let subject = first;
  for (const { gapMs, cost, planShare } of requests) {
    nowMs += gapMs;
    if (planShare !== undefined) subject = scale(first, planShare);
    const most = Math.min(subject.perMinute, subject.perDay ?? subject.perMinute);
    yield { subject, cost: Math.min(cost, most), nowMs };
  }
}

function scale({ name, perMinute, perDay }: Subject, share: number): Subject {
  const scaled = (limit: number) => Math.min(1_000_000_000, Math.max(1, Math.floor(limit * share)));
  return { name, perMinute: scaled(perMinute), perDay: perDay === undefined ? undefined : scaled(perDay) };
}

// The algorithm as functions that leave the state they are given as it is.

interface Step {
  readonly state: State;
  readonly decision: RateLimitDecision;
}

function stateAt(state: State | undefined, nowMs: number): State {
  const copy = state === undefined ? newState() : structuredClone(state);
  advance(copy, nowMs);
  return copy;
}

export function checkState(before: State | undefined, subject: Subject, cost: number, nowMs: number): Step {
  const state = stateAt(before, nowMs);
  return { state, decision: decide(state, subject, { cost, refusalsMax: refusalsMaxOf(subject) }, nowMs) };
}

export const snapshotOf = (state: State | undefined, subject: Subject, nowMs: number): RateLimitSnapshot =>
  read(stateAt(state, nowMs), subject, nowMs);

export const usedOf = ({ minute, day }: RateLimitStatus) => ({ minute: minute.used, day: day?.used });

/** More refusals at once than any pool is granted on the plans that tests ban a key of. */
const ATTEMPTS_MAX = 1_000;

/** Sends requests without a pause until the key is banned. @returns the first refusal by the ban */
export async function hammer(limiter: Pick<RateLimiter, 'check'>, subject: Subject): Promise<BannedDecision> {
  let decision: RateLimitDecision | undefined;
  for (let i = 0; i < ATTEMPTS_MAX; i++) {
    decision = await limiter.check(subject, 1);
    if (decision.outcome === 'banned') return decision;
  }
  throw new Error(`${ATTEMPTS_MAX} requests at once were not banned, the last was ${decision?.outcome}`);
}
