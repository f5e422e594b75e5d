import { describe, expect, it } from 'vitest';
import { type KeyPlans, parsePlanReason, planInForce, temporaryPlanAt } from '../src/index.ts';

const UNTIL = new Date('2026-06-01T00:00:00Z');
const at = (ms: number) => new Date(UNTIL.getTime() + ms);

describe('the plan in force', () => {
  const lasting: KeyPlans = { lastingPlan: { name: 'free' } };
  const temporaryPlan = { plan: { name: 'business' }, until: UNTIL } as const;
  const raised: KeyPlans = { ...lasting, temporaryPlan };

  it('is the lasting one of a key that has no other', () => {
    expect(planInForce(lasting, UNTIL)).toEqual({ name: 'free' });
    expect(temporaryPlanAt(lasting, UNTIL)).toBeUndefined();
  });

  it.each([
    [-86_400_000, 'business'],
    [-1, 'business'],
    [0, 'free'],
    [1, 'free'],
  ] as const)('%d ms after the end of a temporary one is %s', (ms, name) => {
    expect(planInForce(raised, at(ms))).toEqual({ name });
    expect(temporaryPlanAt(raised, at(ms))).toEqual(name === 'business' ? temporaryPlan : undefined);
  });

  it('may be lower for a time', () => {
    const lowered: KeyPlans = { lastingPlan: { name: 'pro' }, temporaryPlan: { plan: { name: 'free' }, until: UNTIL } };
    expect([planInForce(lowered, at(-1)), planInForce(lowered, at(0))]).toEqual([{ name: 'free' }, { name: 'pro' }]);
  });
});

describe('the reason for a temporary plan', () => {
  it.each(['x', 'Black Friday', 'Größe: 5 × "größer" – €, 日本, é', 'n'.repeat(200), '🐕'.repeat(200)])(
    'may be %j',
    (text) => {
      expect(parsePlanReason(text)).toBe(text);
    },
  );

  it.each([
    ['empty', ''],
    ['blank', '   '],
    ['too long', 'n'.repeat(201)],
    ['of two lines', 'a\nb'],
    ['of two lines in another way', 'a\u2028b'],
    ['one that controls a terminal', 'a\u001b[31mb'],
    ['one that turns the direction of the text', 'a\u202eb'],
    ['half a character', 'a\ud83d'],
  ])('must not be %s', (_, text) => expect(parsePlanReason(text)).toBeUndefined());
});
