import { readFileSync } from 'node:fs';
import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advance, decide, newState, read, type State } from '../src/algorithm.ts';
import type { Subject } from '../src/index.ts';
import { decisionOf, type Operation, type Row, snapshotOf } from '../src/redis-limiter.ts';
import { refusalsMaxOf } from '../src/subject.ts';
import { PROPERTY_RUNS } from './support/traffic.ts';

/** A call of the limiter. */
interface Call {
  readonly operation: Operation;
  readonly limits: Pick<Subject, 'perMinute' | 'perDay'>;
  /** Of a request to decide on, in units. */
  readonly cost: number;
}

/** A unit or a refusal, and until when it counts. */
interface Entry {
  atMs: number;
  countsUntilMs: number;
  readonly units: number;
}

interface Window {
  readonly bucketMs: number;
  readonly lengthMs: number;
}

const MINUTE: Window = { bucketMs: 1_000, lengthMs: 60_000 };
const DAY: Window = { bucketMs: 900_000, lengthMs: 86_400_000 };
const BANS_MS = [60_000, 300_000, 900_000, 3_600_000];
const DAY_MS = 86_400_000;

type Verdict = [outcome: Row[0], refusal?: NonNullable<Row[5]>];

const sum = (entries: readonly Entry[]): number => entries.reduce((total, { units }) => total + units, 0);
const floorTo = (ms: number, stepMs: number): number => Math.floor(ms / stepMs) * stepMs;

/** The limiter in the plainest words: every unit and every refusal by itself, each with the time until which it counts. */
class Model {
  #minute: Entry[] = [];
  #day: Entry[] = [];
  #refusals: Entry[] = [];
  #level = 0;
  #bannedUntilMs = 0;

  /** @returns what the script does */
  apply(call: Call, nowMs: number): Row {
    this.#bringTo(nowMs);
    const [outcome, ...refusal] = this.#verdictOf(call, nowMs);
    const { perMinute, perDay = 0 } = call.limits;
    return [
      outcome,
      nowMs,
      [sum(this.#minute), this.#resetOf(this.#minute, perMinute, nowMs)],
      [sum(this.#day), this.#resetOf(this.#day, perDay, nowMs)],
      [this.#refusals.length, this.#level, this.#bannedUntilMs],
      ...refusal,
    ];
  }

  /** When the next unit or refusal counts no longer; `undefined` if nothing counts. */
  nextEndMs(): number | undefined {
    const ends = [...this.#minute, ...this.#day, ...this.#refusals].map(({ countsUntilMs }) => countsUntilMs);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  copy(): Model {
    const copy = new Model();
    const copyOf = (entries: readonly Entry[]) => entries.map((entry) => ({ ...entry }));
    copy.#minute = copyOf(this.#minute);
    copy.#day = copyOf(this.#day);
    copy.#refusals = copyOf(this.#refusals);
    copy.#level = this.#level;
    copy.#bannedUntilMs = this.#bannedUntilMs;
    return copy;
  }

  #verdictOf({ operation, limits, cost }: Call, nowMs: number): Verdict {
    switch (operation) {
      case 'read':
        return ['status'];
      case 'lift':
        this.#refusals = [];
        this.#level = this.#bannedUntilMs = 0;
        return ['status'];
      case 'decide':
        return this.#decide(limits, cost, nowMs);
      default:
        return operation satisfies never;
    }
  }

  #decide({ perMinute, perDay }: Call['limits'], cost: number, nowMs: number): Verdict {
    const minuteOver = sum(this.#minute) + cost - perMinute;
    const dayOver = perDay === undefined ? 0 : sum(this.#day) + cost - perDay;
    const minuteRelease = minuteOver > 0 ? this.#freeAt(this.#minute, minuteOver, nowMs) : nowMs;
    const dayRelease = dayOver > 0 ? this.#freeAt(this.#day, dayOver, nowMs) : nowMs;
    let window: 'minute' | 'day' | 'none' = 'none';
    if (minuteOver > 0) window = 'minute';
    if (dayOver > 0 && (minuteOver <= 0 || dayRelease >= minuteRelease)) window = 'day';
    const release = Math.max(minuteRelease, dayRelease);
    if (this.#bannedUntilMs > nowMs) return ['banned', [window, release, release]];
    if (window === 'none') {
      this.#count(perDay, cost, nowMs);
      return ['admitted'];
    }
    const expected = Math.min(minuteOver + this.#refusals.length, sum(this.#minute));
    const retry = window === 'day' ? release : this.#freeAt(this.#minute, expected, nowMs);
    const told = nowMs + Math.ceil((retry - nowMs) / 1_000) * 1_000;
    const countsUntilMs = floorTo(Math.min(told - 2_000, nowMs + 60_000), 10_000);
    if (countsUntilMs > nowMs) this.#refusals.push({ atMs: nowMs, countsUntilMs, units: 1 });
    if (perDay === undefined || this.#refusals.length <= Math.max(2 * perMinute, 250)) {
      return ['refused', [window, release, retry]];
    }
    this.#refusals = [];
    this.#level = Math.min(this.#level + 1, BANS_MS.length);
    this.#bannedUntilMs = nowMs + this.#banMs;
    return ['newly banned', [window, release, release]];
  }

  get #banMs(): number {
    return BANS_MS[this.#level - 1] ?? 0;
  }

  #count(perDay: number | undefined, units: number, nowMs: number): void {
    const entryOf = ({ bucketMs, lengthMs }: Window): Entry => ({
      atMs: nowMs,
      countsUntilMs: floorTo(nowMs, bucketMs) + bucketMs + lengthMs,
      units,
    });
    this.#minute.push(entryOf(MINUTE));
    if (perDay !== undefined) this.#day.push(entryOf(DAY));
  }

  /** What lies ahead, because the clock was set back, is as if it were of now; what is over goes. */
  #bringTo(nowMs: number): void {
    for (const [entries, { bucketMs, lengthMs }] of [
      [this.#minute, MINUTE],
      [this.#day, DAY],
    ] as const) {
      for (const entry of entries) {
        if (floorTo(entry.atMs, bucketMs) <= nowMs) continue;
        entry.atMs = nowMs;
        entry.countsUntilMs = floorTo(nowMs, bucketMs) + bucketMs + lengthMs;
      }
    }
    for (const refusal of this.#refusals) {
      if (refusal.countsUntilMs > floorTo(nowMs + 60_000, 10_000)) refusal.countsUntilMs = floorTo(nowMs, 10_000);
    }
    const counts = ({ countsUntilMs }: Entry) => countsUntilMs > nowMs;
    this.#minute = this.#minute.filter(counts);
    this.#day = this.#day.filter(counts);
    this.#refusals = this.#refusals.filter(counts);
    this.#bannedUntilMs = Math.min(this.#bannedUntilMs, nowMs + this.#banMs);
    if (this.#bannedUntilMs + DAY_MS <= nowMs) this.#level = this.#bannedUntilMs = 0;
  }

  #freeAt(entries: readonly Entry[], units: number, nowMs: number): number {
    let freed = 0;
    for (const entry of entries.toSorted((one, other) => one.countsUntilMs - other.countsUntilMs)) {
      freed += entry.units;
      if (freed >= units) return entry.countsUntilMs;
    }
    return nowMs;
  }

  #resetOf(entries: readonly Entry[], limit: number, nowMs: number): number {
    return this.#freeAt(entries, Math.max(1, sum(entries) - limit + 1), nowMs);
  }
}

const SCRIPT = readFileSync(new URL('../src/limiter.lua', import.meta.url), 'utf8');
const START_MS = 1_700_000_000_123;
/** How long Redis keeps a state at least: what is left after so long is nothing. */
const KEPT_MS = 61_000;

let database: TestRedis;
let redis: Redis;
beforeAll(async () => {
  database = await createTestRedis();
  redis = new Redis(database.url);
});
afterAll(async () => {
  redis.disconnect();
  await database[Symbol.asyncDispose]();
});

const operations = fc.constantFrom<Operation>('decide', 'decide', 'decide', 'decide', 'decide', 'read', 'lift');
const gaps = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 70_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(999, 1_000, 1_001, 59_999, 60_000, 60_001, 61_000, 900_000) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 90_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -90_000_000, max: 0 }) }, // the clock is set back
);
const step = fc.record({
  operation: operations,
  gapMs: gaps,
  /** In place of the gap: the very moment at which something counts no longer. */
  isAtEnd: fc.constantFrom(false, false, false, false, false, true),
  cost: fc.integer({ min: 1, max: 5 }),
  times: fc.constantFrom(1, 1, 1, 7, 300),
  /** A change of plan. */
  perMinute: fc.option(fc.constantFrom(5, 29, 60, 1_000, 1_000_000_000), { freq: 10, nil: undefined }),
});
const histories = fc.record({
  perMinute: fc.constantFrom<number>(5, 29, 60, 1_000),
  perDay: fc.constantFrom(undefined, 7, 100, 1_000_000),
  steps: fc.array(step, { minLength: 10, maxLength: 60 }),
});

const at = (gapMs: number, operation: Operation) =>
  ({ operation, gapMs, isAtEnd: false, cost: 1, times: 1, perMinute: undefined }) as const;
/** The wait of a refusal is told in whole seconds, rounded up: that decides in which 10 s it ends to count. */
const ROUNDED_UP = {
  perMinute: 1,
  perDay: 1_000_000 as const,
  steps: [at(1_000, 'decide'), at(77, 'decide'), at(53_800, 'read')],
};

/** What the functions in the process make of a call. */
function apply(state: State, { operation, limits, cost }: Call, now: number) {
  advance(state, now);
  const subject = { name: '', ...limits };
  if (operation === 'decide') return decide(state, subject, { cost, refusalsMax: refusalsMaxOf(subject) }, now);
  // Operators lift bans only in Redis.
  if (operation === 'lift') Object.assign(state, { refusals: newState().refusals, level: 0, bannedUntil: 0 });
  return read(state, subject, now);
}

test('the script in Redis, the functions in the process and the plain model decide alike', async () => {
  let [calls, serial] = [0, 0];
  const property = fc.asyncProperty(histories, async ({ perDay, steps, ...first }) => {
    const key = `key ${serial++}`;
    const state = newState();
    const model = new Model();
    let { perMinute } = first;
    let now = START_MS;
    for (const { operation, gapMs, isAtEnd, times, ...step } of steps) {
      now = (isAtEnd ? model.nextEndMs() : undefined) ?? now + gapMs;
      perMinute = step.perMinute ?? perMinute;
      const limits = { perMinute, perDay };
      const cost = Math.min(step.cost, perMinute, perDay ?? step.cost);
      const keys = new Array<string>(times).fill(key);
      const subject = { name: key, ...limits };
      const values = [operation, perMinute, perDay ?? '', cost, refusalsMaxOf(subject) ?? ''];
      const rows = (await redis.eval(SCRIPT, times, ...keys, now, ...keys.flatMap(() => values))) as Row[]; // as the script describes them
      if (operation !== 'read') expect(await redis.pttl(key)).toBeGreaterThan(KEPT_MS - 10_000);
      await redis.persist(key); // its time to live runs by the real clock
      const results = rows.map((row) => (operation === 'decide' ? decisionOf : snapshotOf)(row, subject));
      const call = { operation, limits, cost };
      const isRead = operation === 'read'; // it changes nothing
      expect(results).toEqual(keys.map(() => apply(isRead ? structuredClone(state) : state, call, now)));
      expect(rows).toEqual(keys.map(() => (isRead ? model.copy() : model).apply(call, now)));
      calls += times;
    }
  });
  await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 2), examples: [[ROUNDED_UP]] });
  expect(calls).toBeGreaterThan(PROPERTY_RUNS * 160);
});
