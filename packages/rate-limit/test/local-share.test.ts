import { describe, expect, test } from 'vitest';
import { connectRedis, type ResilientLimiter, type Subject } from '../src/index.ts';
import { LastKnown } from '../src/last-known.ts';
import { LocalShare } from '../src/local-share.ts';
import { RedisLimiter } from '../src/redis-limiter.ts';
import { refusalsMaxOf } from '../src/subject.ts';
import { openScenario, PATIENT } from './support/fault-scenario.ts';
import { newKey } from './support/traffic.ts';

const NOW_MS = 1_700_000_000_000;

/** A share of limits of which Redis has used nothing. */
function openShare({ instances = 1, perMinute = 10, perDay = 100 } = {}) {
  const subject = newKey(perMinute, perDay);
  const share = new LocalShare(subject, instances, new LastKnown().statusAt(subject, NOW_MS), NOW_MS);
  return { subject, share, check: (cost: number, nowMs = NOW_MS) => share.check(subject, cost, nowMs) };
}

test('a pool that obeys is not banned at any of several instances: bans go by the whole limit', () => {
  const { check } = openShare({ instances: 4, perMinute: 300, perDay: 100_000 });
  const outcomes = Array.from({ length: 75 + 600 }, () => check(1).outcome);
  expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(75);
  expect(outcomes.filter((outcome) => outcome === 'banned')).toEqual([]);
  expect(check(1).outcome).toBe('banned');
});

test.each([
  ['minute', { instances: 10, perMinute: 60, perDay: 1_000 }, 7],
  ['day', { instances: 10, perMinute: 1_000, perDay: 60 }, 7],
  ['minute', { instances: 1_000, perMinute: 60, perDay: 1_000 }, 2], // the share of each is 1
])(
  'a batch beyond the share is asked to come back in a second, and never leads to a ban: %s',
  (window, limits, cost) => {
    const { subject, share, check } = openShare(limits);
    for (let i = 0; i <= 2 * (refusalsMaxOf(subject) ?? 0); i++) {
      const told = { outcome: 'refused', limitingWindow: window, retryAtMs: NOW_MS + 1_000, retryAfterSeconds: 1 };
      expect(check(cost)).toMatchObject(told);
    }
    expect(share.read(subject, NOW_MS)).toMatchObject({ refusals: 0, minute: { used: 0 }, day: { used: 0 } });
    expect(check(cost - 1).outcome, 'a share is at least one').toBe('admitted');
  },
);

test('a batch beyond the share does not pass a ban', () => {
  const { check } = openShare({ instances: 2 });
  for (let i = 0; i < 5 + 251; i++) check(1);
  expect(check(6)).toMatchObject({ outcome: 'banned', isNew: false, level: 1 });
});

/** How ioredis fails where nothing can be sent: a release that says it in other words would lose admitted units. */
async function sendToNobody(): Promise<unknown> {
  const redis = connectRedis({ type: 'single', host: '127.0.0.1', port: 1, database: 0, tls: false });
  const failure = await new RedisLimiter({ redis }).peek(newKey(10, 100)).catch((error: unknown) => error);
  redis.disconnect();
  return failure;
}

test.each([
  ['that Redis refused', async () => Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' }), 5],
  ['that was not sent', sendToNobody, 5],
  ['that timed out', async () => new Error('Command timed out'), 0],
  ['whose connection was lost', async () => new Error('Connection is closed.'), 0],
])('a debit %s is sent again only if it cannot have run', async (_, fail, sentAgain) => {
  const { share, check } = openShare();
  check(5);
  const use = share.takeAdmitted(NOW_MS) ?? expect.fail();
  expect(use).toEqual({ minute: 5, day: 5 });
  expect(share.settle(use, await fail())).toBe(false);
  const again = share.takeAdmitted(NOW_MS) ?? expect.fail();
  expect(again.day).toBe(sentAgain);
  expect(share.settle(again)).toBe(true);
});

test('what is admitted while a debit is under way is debited after it', () => {
  const { share, check } = openShare();
  check(5);
  const first = share.takeAdmitted(NOW_MS) ?? expect.fail();
  expect(share.takeAdmitted(NOW_MS), 'not sent twice').toBeUndefined();
  check(2);
  expect(share.settle(first)).toBe(false);
  const second = share.takeAdmitted(NOW_MS) ?? expect.fail();
  expect(second.day).toBe(2);
  expect(share.settle(second)).toBe(true);
});

test('what has left the minute meanwhile is debited to the day alone', () => {
  const { share, check } = openShare();
  check(5);
  expect(share.takeAdmitted(NOW_MS + 61_000)).toEqual({ minute: 0, day: 5 });
});

/** The same key under another plan. */
const underPlan = ({ name }: Subject, perMinute: number, perDay: number): Subject => ({ name, perMinute, perDay });

async function admit(limiter: ResilientLimiter, subject: Subject, requests: number): Promise<number> {
  let admitted = 0;
  for (let i = 0; i < requests; i++) if ((await limiter.check(subject, 1)).outcome === 'admitted') admitted++;
  return admitted;
}

describe('a plan that changes while Redis is away', () => {
  test('and is raised has all that was not used before', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter } = scenario;
    const free = newKey(60, 100);
    const raised = underPlan(free, 1_000, 100_000);
    expect(await admit(limiter, free, 61)).toBe(60);
    expect(limiter.lastKnown(raised)).toMatchObject({ minute: { remaining: 940 }, day: { remaining: 99_940 } });
    await scenario.kill();
    expect(await limiter.check(raised, 1)).toMatchObject({
      outcome: 'admitted',
      minute: { limit: 1_000, remaining: 939 },
      day: { limit: 100_000, remaining: 99_939 },
    });
  });

  test('and is raised has its share of that on each of several instances', async () => {
    await using scenario = await openScenario({ ...PATIENT, instances: 2 });
    const { limiter } = scenario;
    const free = newKey(60, 100);
    await admit(limiter, free, 60);
    await scenario.kill();
    expect(await limiter.check(underPlan(free, 1_000, 100_000), 1)).toMatchObject({
      outcome: 'admitted',
      minute: { limit: 500, remaining: 469 },
      day: { limit: 50_000, remaining: 49_969 },
    });
  });

  test('and is lowered below the use admits nothing more', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter } = scenario;
    const business = newKey(1_000, 100_000);
    await limiter.check(business, 200);
    const free = underPlan(business, 60, 1_000);
    expect(limiter.lastKnown(free)).toMatchObject({ minute: { remaining: 0 }, day: { remaining: 800 } });
    await scenario.kill();
    expect(await limiter.check(free, 1)).toMatchObject({ outcome: 'refused', minute: { remaining: 0 } });
  });

  test('and is raised again after it was lowered keeps what was used before', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter } = scenario;
    const business = newKey(1_000, 100_000);
    await limiter.check(business, 200);
    await limiter.check(underPlan(business, 60, 100), 1); // shows no more than the lower limits
    expect(limiter.lastKnown(business)).toMatchObject({ minute: { remaining: 800 } });
    await scenario.kill();
    expect(await limiter.check(business, 1)).toMatchObject({ minute: { remaining: 799 }, day: { remaining: 99_799 } });
  });
});
