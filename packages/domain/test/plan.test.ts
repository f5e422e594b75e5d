import { describe, expect, it } from 'vitest';
import {
  type ApiKeyId,
  apiKeyIdOf,
  apiKeySubject,
  describeLimits,
  hasFixedLimits,
  LIMIT_MAX,
  LIMIT_MIN,
  limitsOfPlan,
  longListsOfPlan,
  PLAN_NAMES,
  PLANS,
  type Plan,
} from '../src/index.ts';

const ENTERPRISE: Plan = { name: 'enterprise', limits: { perMinute: 5, perDay: 9 } };

describe('a plan', () => {
  it.each([
    [{ name: 'free' }, 60, 1_000, 4],
    [ENTERPRISE, 5, 9, 16],
  ] as const satisfies readonly (readonly [Plan, number, number, number])[])(
    '%j: %d a minute, %d a day, %d long lists',
    (plan, perMinute, perDay, longLists) => {
      expect(limitsOfPlan(plan)).toEqual({ perMinute, perDay });
      expect(longListsOfPlan(plan)).toBe(longLists);
    },
  );

  it('has fixed limits, but for the one whose keys have limits of their own', () => {
    expect(hasFixedLimits('free')).toBe(true);
    expect(PLAN_NAMES.filter((name) => !hasFixedLimits(name))).toEqual(['enterprise']);
  });

  it.each(Object.entries(PLANS))(
    '%s allows what a limit may be, and says whom it is for in one sentence',
    (_, plan) => {
      const limits = typeof plan.limits === 'string' ? [] : Object.values(plan.limits);
      for (const limit of limits) {
        expect(limit).toBeGreaterThanOrEqual(LIMIT_MIN);
        expect(limit).toBeLessThanOrEqual(LIMIT_MAX);
      }
      expect(plan.purpose).toMatch(/^[A-Z][^.]+\.$/);
    },
  );

  it('has limits that can be said in words', () => {
    expect(describeLimits(limitsOfPlan({ name: 'business' }))).toBe('1,000 a minute, 100,000 a day');
  });
});

it('a key is counted under its id, by the limits of its plan', () => {
  const id = 'AbCd1234' as ApiKeyId; // never leaves the test
  const subject = apiKeySubject(id, { name: 'free' });
  expect(subject).toEqual({ name: 'key:AbCd1234', perMinute: 60, perDay: 1_000 });
  expect(apiKeyIdOf(subject.name)).toBe(id);
});
