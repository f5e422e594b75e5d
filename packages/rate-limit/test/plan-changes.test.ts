import { describe, expect, test } from 'vitest';
import type { ResilientLimiter, Subject } from '../src/index.ts';
import { openScenario, PATIENT } from './support/fault-scenario.ts';
import { newKey } from './support/traffic.ts';

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
