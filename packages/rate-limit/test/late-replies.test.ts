import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RateLimitSubject, ServingLimiter } from '../src/index.ts';
import { eventually, openScenario, untilInUse } from './support/fault-scenario.ts';
import { newKey } from './support/traffic.ts';

/** Sends one request after the other. Returns the units admitted. */
async function admit(limiter: ServingLimiter, subject: RateLimitSubject, requests: number): Promise<number> {
  let admitted = 0;
  for (let i = 0; i < requests; i++) if ((await limiter.check(subject, 1)).outcome === 'admitted') admitted++;
  return admitted;
}

/**
 * Sends requests until Redis has decided on one in time: from then on it is known what Redis must hold, so that it shows
 * what is missing. Returns the units admitted.
 */
async function admitUntilSeen(limiter: ServingLimiter, subject: RateLimitSubject): Promise<number> {
  let admitted = 0;
  do admitted += await admit(limiter, subject, 1);
  while (limiter.recall(subject).minute.remaining === subject.perMinute);
  return admitted;
}

describe('a request that was decided here because Redis was late', () => {
  test('is counted once, however soon the next request comes', async () => {
    await using scenario = await openScenario();
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    let admitted = await admit(limiter, subject, 1);
    for (let pause = 0; pause < 4; pause++) {
      server.pause();
      setTimeout(() => server.resume(), 160);
      admitted += await admit(limiter, subject, 3);
      expect(limiter.isDegraded).toBe(false);
    }
    await sleep(300);
    expect((await limiter.peek(subject)).used).toEqual({ minute: admitted, day: admitted });
    admitted += await admit(limiter, subject, 1); // with what is to be debited besides
    expect((await limiter.peek(subject)).used).toEqual({ minute: admitted, day: admitted });
  });

  test('is counted once where Redis refused it after all', async () => {
    await using scenario = await openScenario();
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    const admitted = await admit(limiter, subject, 1);
    await scenario.command('CONFIG', 'SET', 'maxmemory', '1');
    server.pause();
    const late = await admit(limiter, subject, 3);
    server.resume();
    await scenario.command('CONFIG', 'SET', 'maxmemory', '0');
    await untilInUse(limiter);
    await eventually(async () => {
      await limiter.debit(subject, { minute: 0, day: 0 }); // with what is to be debited besides
      expect((await limiter.peek(subject)).used).toEqual({ minute: admitted + late, day: admitted + late });
    });
  });

  test('is counted once where the connection was lost before a reply, and it has not run', async () => {
    await using scenario = await openScenario();
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    let admitted = await admitUntilSeen(limiter, subject);
    server.pause();
    admitted += await admit(limiter, subject, 3);
    await server.kill();
    await server.restart();
    await eventually(() => admit(limiter, newKey(10, 10), 1).then(() => expect(limiter.isDegraded).toBe(false)));
    await eventually(async () => {
      admitted += await admit(limiter, subject, 1); // shows that Redis lacks the others
      expect((await limiter.peek(subject)).used).toEqual({ minute: admitted, day: admitted });
    });
  });

  test('is counted once where the connection was given up before a reply, and it has run', async () => {
    await using scenario = await openScenario();
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    let admitted = await admit(limiter, subject, 1);
    server.pause();
    admitted += await admit(limiter, subject, 10);
    expect(limiter.isDegraded).toBe(true);
    await sleep(5_000); // probes without a response renew the connection
    server.resume();
    await untilInUse(limiter);
    admitted += await admit(limiter, subject, 1);
    expect((await limiter.peek(subject)).used).toEqual({ minute: admitted, day: admitted });
  });
});
