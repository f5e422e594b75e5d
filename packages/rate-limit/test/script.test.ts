import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_PENALTY } from '../src/algorithm/penalty.ts';
import {
  banState,
  checkState,
  debitState,
  raiseState,
  type SubjectState,
  snapshotOf,
} from '../src/algorithm/subject-state.ts';
import { readSnapshot } from '../src/redis/read-snapshot.ts';
import { readDecision } from '../src/redis/redis-limiter.ts';
import { encodeState } from './support/encode-state.ts';
import {
  type Arrival,
  arrivals,
  limits,
  newAddress,
  newKey,
  PROPERTY_RUNS,
  startMs,
  traffic,
} from './support/traffic.ts';

/** The time in a reply of the script, and each result. */
const [TIME_BYTES, RESULT_BYTES] = [8, 29];
/** Longer than any state is kept: where it is left after a call, the call has not set a time to live. */
const UNTOUCHED_TTL_MS = 10 * 86_400_000;

/**
 * Runs check.lua for a whole history in one command: the script as it is, as a function that is called once per call of
 * the history. Returns the reply of each call, the state that it left, and what the state has to live. Time stands
 * still for Redis meanwhile, so that times to live are exact.
 */
const HISTORY = `
local function check(KEYS, ARGV)
${readFileSync(new URL('../src/redis/check.lua', import.meta.url), 'utf8')}
end
local key, results, position = KEYS[1], {}, 1
while ARGV[position] do
  local count, keys, values = tonumber(ARGV[position]), { key }, { ARGV[position + 1], ARGV[position] }
  for i = 1, count * 4 do values[i + 2] = ARGV[position + 1 + i] end
  redis.call('PEXPIRE', key, ${UNTOUCHED_TTL_MS})
  results[#results + 1] = { check(keys, values), redis.call('GET', key), redis.call('PTTL', key) }
  position = position + 2 + count * 4
end
redis.call('DEL', key)
return results`;

let database: TestRedis;
let redis: Redis;

beforeAll(async () => {
  database = await createTestRedis();
  redis = new Redis(database.url);
});
afterAll(async () => {
  await redis.quit();
  await database[Symbol.asyncDispose]();
});

type Kind = 'check' | 'debit' | 'pardon' | 'raise' | 'read' | 'restore';

interface Step extends Arrival {
  /** A debit is of the cost to the minute, and of twice as much to the day. */
  readonly kind: Kind;
}

const MODES = {
  'api-key': { check: 'k', debit: 'd', pardon: 'l', raise: 'r', read: 'p', restore: 's' },
  // An address is never banned.
  'client-address': { check: 'a', debit: 'b', pardon: 'q', raise: 'c', read: 'q', restore: 'q' },
} as const;

const otherKinds = fc.array(
  fc.constantFrom<Kind>('check', 'check', 'check', 'read', 'debit', 'pardon', 'raise', 'restore'),
  {
    minLength: 1,
  },
);

const steps = fc
  .tuple(limits, traffic({ stepsBack: true, changesPlan: true, hammers: true }), startMs, fc.boolean(), otherKinds)
  .map(([{ perMinute, perDay }, requests, fromMs, isKey, kinds]): Step[] =>
    [...arrivals(isKey ? newKey(perMinute, perDay) : newAddress(), requests, fromMs)].map((arrival, i) => ({
      ...arrival,
      kind: i % 5 === 4 ? (kinds[i % kinds.length] ?? 'check') : 'check',
    })),
  );

/** Requests that come at the same time share a call. */
function group(all: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of all) {
    const last = groups.at(-1);
    if (last?.[0]?.nowMs === step.nowMs) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

function parametersOf({ subject, cost, kind }: Step): (string | number)[] {
  const mode = MODES[subject.type][kind];
  if (mode === 'l') return [mode, 0, 0, 0];
  if (mode === 's') return [mode, banMsOf(cost), banLevelOf(cost), 0];
  if (mode === 'p' || mode === 'q') return [mode, 1, subject.perMinute, subject.perDay ?? 0];
  if (kind === 'raise') return [mode, raisedTo(cost).minute, subject.perMinute, raisedTo(cost).day];
  return [mode, cost, subject.perMinute, kind === 'debit' ? cost * 2 : (subject.perDay ?? 0)];
}

// The ban that a step of this cost restores.
const banMsOf = (cost: number) => 1_000 + (cost % 60) * 60_000;
const banLevelOf = (cost: number) => 1 + (cost % 4);

// More than is there, or less.
const raisedTo = (cost: number) => ({ minute: cost * 5, day: cost * 20 });

interface CallResult {
  readonly reply: Buffer;
  readonly stored: Buffer | null;
  readonly ttlMs: number;
  /** Until when the state would be kept by the clock that the script was given, if the call has set it. */
  readonly keptUntilMs: number | undefined;
}

async function runScript(groups: readonly (readonly Step[])[]): Promise<CallResult[]> {
  const key = groups[0]?.[0]?.subject.storageKey ?? '';
  const parameters = groups.flatMap((together) => [
    together.length,
    together[0]?.nowMs ?? 0,
    ...together.flatMap(parametersOf),
  ]);
  const results = await redis.callBuffer('EVAL', HISTORY, 1, key, ...parameters);
  // As HISTORY returns them.
  return (results as [Buffer, Buffer | null, number][]).map(([reply, stored, ttlMs], i) => {
    const nowMs = groups[i]?.[0]?.nowMs ?? 0;
    return { reply, stored, ttlMs, keptUntilMs: ttlMs > UNTOUCHED_TTL_MS / 2 ? undefined : nowMs + ttlMs };
  });
}

/** What the pure functions make of the same requests, and how a result of the script is read. */
function runModel(before: SubjectState | undefined, together: readonly Step[]) {
  let state = before;
  const expected = together.map(({ subject, cost, kind, nowMs }, i) => {
    const offset = TIME_BYTES + i * RESULT_BYTES;
    if (kind === 'check') {
      const checked = checkState(state, subject, cost, nowMs);
      state = checked.state;
      return { result: checked.decision, read: (reply: Buffer) => readDecision(reply, offset, subject) };
    }
    const snapshot = snapshotOf(state, subject, nowMs);
    if (kind === 'read' || (subject.type === 'client-address' && kind !== 'debit' && kind !== 'raise')) {
      return { result: snapshot, read: (reply: Buffer) => readSnapshot(reply, offset, subject) };
    }
    if (kind === 'restore') {
      state = banState(state, { untilMs: nowMs + banMsOf(cost), level: banLevelOf(cost) }, nowMs);
      return { result: 0, read: (reply: Buffer) => reply.readUInt32LE(offset + 25) };
    }
    const use = kind === 'debit' ? { minute: cost, day: cost * 2 } : { minute: 0, day: 0 };
    state =
      kind === 'raise' ? raiseState(state, subject, raisedTo(cost), nowMs) : debitState(state, subject, use, nowMs);
    if (kind === 'pardon') state = { ...state, penalty: NO_PENALTY };
    const bannedMs = kind === 'pardon' && snapshot.ban !== undefined ? snapshot.ban.untilMs - state.atMs : 0;
    return { result: bannedMs, read: (reply: Buffer) => reply.readUInt32LE(offset + 25) };
  });
  return { state, expected };
}

describe('the script in Redis', () => {
  test('returns and leaves behind, call by call, what the pure functions do', async () => {
    let requests = 0;
    const outcomes = new Map<string, number>();
    const property = fc.asyncProperty(steps, async (all) => {
      const groups = group(all);
      const results = await runScript(groups);
      let state: SubjectState | undefined;
      for (const [i, together] of groups.entries()) {
        const { reply, stored } = results[i] ?? expect.fail();
        const model = runModel(state, together);
        state = model.state;
        for (const { result, read } of model.expected) {
          if (!isDeepStrictEqual(read(reply), result)) expect(read(reply)).toEqual(result);
          const seen =
            typeof result === 'number'
              ? 'others'
              : `${result.outcome}${'isNew' in result && result.isNew ? ' anew' : ''}`;
          outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1);
        }
        const bytes = state && encodeState(state);
        if (bytes === undefined || stored === null) expect(stored).toBe(bytes ?? null);
        else if (!stored.equals(bytes)) expect(stored.toString('hex')).toBe(bytes.toString('hex'));
        requests += together.length;
      }
    });
    await fc.assert(property, { numRuns: PROPERTY_RUNS, endOnFailure: true });
    expect(requests).toBeGreaterThan(PROPERTY_RUNS * 250);
    for (const seen of ['admitted', 'rate_limit_exceeded', 'api_key_banned', 'api_key_banned anew', 'snapshot']) {
      expect(outcomes.get(seen), seen).toBeGreaterThan(PROPERTY_RUNS / 40);
    }
  });

  test('keeps a state for as long as it matters, and no longer than two days', async () => {
    const property = fc.asyncProperty(steps, async (all) => {
      const groups = group(all);
      const results = await runScript(groups);
      let state: SubjectState | undefined;
      let keptUntilMs = 0;
      for (const [i, together] of groups.entries()) {
        const result = results[i] ?? expect.fail();
        const subject = together[0]?.subject;
        state = runModel(state, together).state;
        if (state === undefined || subject === undefined) continue;
        if (result.keptUntilMs !== undefined) {
          keptUntilMs = result.keptUntilMs;
          expect(result.ttlMs).toBeLessThan(2 * 86_400_000);
        }
        const { minute, day, penalty } = state;
        const log = subject.type === 'api-key' ? { ...day, lengthMs: 86_400_000 } : { ...minute, lengthMs: 60_000 };
        const mattersUntilMs = Math.max(
          log.openCount === 0 ? 0 : log.openLastMs + log.lengthMs,
          penalty.queueEndMs,
          penalty.counts.findLastIndex((count) => count > 0) * 10_000 + state.atMs,
          penalty.banLevel === 0 ? 0 : penalty.banUntilMs + 86_400_000,
        );
        if (keptUntilMs < mattersUntilMs) expect.fail(`forgotten ${mattersUntilMs - keptUntilMs} ms too early`);
      }
    });
    await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 5), endOnFailure: true });
  });

  test('keeps a day for a day after its last hit, however few come', async () => {
    const subject = newKey(1_000, 1_000);
    // Each minute is over when the next hit comes, and the day becomes longer than what is written anew with each hit.
    const groups = Array.from({ length: 120 }, (_, i): Step[] => [
      { subject, cost: 1, nowMs: 1_700_000_000_000 + i * 61_000, kind: 'check' },
    ]);
    let keptUntilMs = 0;
    for (const [i, result] of (await runScript(groups)).entries()) {
      keptUntilMs = result.keptUntilMs ?? keptUntilMs;
      expect(keptUntilMs).toBeGreaterThan((groups[i]?.[0]?.nowMs ?? 0) + 86_400_000);
    }
  });
});
