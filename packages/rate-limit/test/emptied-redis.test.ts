import { describe, expect, test } from 'vitest';
import { movableClock, openScenario, PATIENT, untilAway, untilInUse } from './support/fault-scenario.ts';
import { hammer } from './support/hammer.ts';
import { newKey } from './support/traffic.ts';

type Scenario = Awaited<ReturnType<typeof openScenario>>;

async function openWithClock() {
  const clock = movableClock();
  return { ...(await openScenario({ ...PATIENT, nowMs: clock.nowMs })), clock };
}

describe('a limit that is used up stays so until its release, when Redis', () => {
  test.each([
    ['is flushed', async ({ command }: Scenario) => void (await command('FLUSHALL'))],
    [
      'is killed and comes back empty',
      async ({ kill, server, limiter }: Scenario) => {
        await kill();
        await untilAway(limiter);
        await server.restart();
        await untilInUse(limiter);
      },
    ],
  ])('%s', async (_, lose) => {
    await using scenario = await openWithClock();
    const { limiter, clock } = scenario;
    const [byDay, byMinute, half] = [newKey(10, 10), newKey(10, 100), newKey(10, 100)];
    await limiter.check(byDay, 10); // exactly: nothing was refused yet
    await limiter.check(byMinute, 10);
    expect((await limiter.check(byMinute, 1)).outcome).toBe('refused');
    await limiter.check(half, 5);
    await lose(scenario);
    for (let i = 0; i < 3; i++) {
      expect(await limiter.check(byDay, 1)).toMatchObject({ outcome: 'refused', limitingWindow: 'day' });
      expect(await limiter.check(byMinute, 1)).toMatchObject({ outcome: 'refused', limitingWindow: 'minute' });
    }
    expect((await limiter.check({ ...byMinute, perMinute: 20 }, 1)).outcome, 'another plan').toBe('admitted');
    expect(await limiter.check(half, 10), 'was half used: that is forgiven').toMatchObject({ outcome: 'admitted' });
    clock.advance(61_000);
    expect((await limiter.check(byMinute, 1)).outcome).toBe('admitted');
    expect((await limiter.check(byDay, 1)).outcome).toBe('refused');
    clock.advance(87_300_000);
    expect((await limiter.check(byDay, 1)).outcome).toBe('admitted');
  });
});

test('who was refused after Redis was emptied is admitted when it was told to come back', async () => {
  await using scenario = await openWithClock();
  const { limiter, command, clock } = scenario;
  const subject = newKey(60, 100_000);
  await limiter.check(subject, 60);
  clock.advance(30_000);
  await command('FLUSHALL');
  const refusals = await Promise.all(Array.from({ length: 30 }, () => limiter.check(subject, 1)));
  const waitsSeconds = refusals.map((refusal) => (refusal.outcome === 'refused' ? refusal.retryAfterSeconds : 0));
  expect(Math.min(...waitsSeconds)).toBeGreaterThan(25);
  clock.advance(Math.max(...waitsSeconds) * 1_000);
  const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.check(subject, 1)));
  expect(decisions.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(30);
});

test('a day that is used up stays so when Redis was emptied, however many requests come at once', async () => {
  await using scenario = await openWithClock();
  const { limiter, command, clock } = scenario;
  const subject = newKey(60, 300);
  for (let i = 0; i < 5; i++) {
    await limiter.check(subject, 60);
    clock.advance(61_000);
  }
  expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'refused', limitingWindow: 'day' });
  await command('FLUSHALL');
  let admitted = 0;
  for (let minute = 0; minute < 3; minute++) {
    const decisions = await Promise.all(Array.from({ length: 61 }, () => limiter.check(subject, 1)));
    admitted += decisions.filter(({ outcome }) => outcome === 'admitted').length;
    clock.advance(61_000);
  }
  expect(admitted).toBe(0);
});

test('a ban that was lost with the data leaves the day used up, also when its status is read', async () => {
  await using scenario = await openWithClock();
  const { limiter, command, clock } = scenario;
  const subject = newKey(300, 300);
  await limiter.check(subject, 300);
  await hammer(limiter, subject);
  await command('FLUSHALL');
  clock.advance(6_000); // past what is remembered of a ban
  await limiter.peek(subject);
  expect((await limiter.check(subject, 1)).outcome).toBe('refused');
});
