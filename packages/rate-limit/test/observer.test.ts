import { describe, expect, test } from 'vitest';
import {
  connectRedis,
  type DecisionPlace,
  InProcessLimiter,
  type LimiterObserver,
  type SubjectBan,
} from '../src/index.ts';
import { openLimiter, openScenario, PATIENT } from './support/fault-scenario.ts';
import { hammer, newAddress, newKey } from './support/traffic.ts';

/** Keeps what it observes. */
function createObserver() {
  const places: DecisionPlace[] = [];
  const bans: SubjectBan[] = [];
  const callsMs: number[] = [];
  const observer: LimiterObserver = {
    onDecision: (place) => places.push(place),
    onBan: (ban) => bans.push(ban),
    onRedisCall: (durationMs) => callsMs.push(durationMs),
  };
  return { observer, places, bans, callsMs };
}

const connect = (port: number) =>
  connectRedis({ type: 'single', host: '127.0.0.1', port, database: 0, tls: false }, PATIENT);

test('where each check was decided can be observed, and how long each call of Redis took', async () => {
  const { observer, places, callsMs } = createObserver();
  await using scenario = await openScenario({ ...PATIENT, observer });
  const { limiter } = scenario;
  callsMs.length = 0; // the probes of the start
  await Promise.all(Array.from({ length: 3 }, () => limiter.check(newKey(5, 5), 1)));
  expect(places).toEqual(['redis', 'redis', 'redis']);
  expect(callsMs.length, 'one call for all of a tick').toBe(1);
  expect(callsMs[0]).toBeGreaterThan(0);
  const address = newAddress();
  for (let i = 0; i < 62; i++) await limiter.check(address, 1);
  expect(places.slice(3)).toEqual([...Array.from({ length: 61 }, () => 'redis'), 'memory']);
  expect(callsMs.length).toBe(62);
  await scenario.kill();
  places.length = 0;
  await limiter.check(newKey(5, 5), 1);
  expect(places).toEqual(['process']);
});

describe('a ban can be observed once', () => {
  test('by the process whose request set it, however many meet it', async () => {
    const [one, other] = [createObserver(), createObserver()];
    await using scenario = await openScenario({ ...PATIENT, observer: one.observer });
    const redis = connect(scenario.server.port);
    using second = await openLimiter({ redis, observer: other.observer });
    const key = newKey(3, 1_000);
    const { bannedUntilMs } = await hammer(scenario.limiter, key);
    for (const limiter of [scenario.limiter, second.limiter]) {
      for (let i = 0; i < 10; i++) expect((await limiter.check(key, 1)).outcome).toBe('banned');
    }
    const ban = { subject: key.name, untilMs: bannedUntilMs, level: 1 };
    expect(one.bans).toEqual([ban]);
    expect(other.bans).toEqual([]);
  });

  test('where it is set while Redis is away', async () => {
    const { observer, bans } = createObserver();
    await using scenario = await openScenario({ ...PATIENT, observer });
    await scenario.kill();
    const key = newKey(3, 1_000);
    await hammer(scenario.limiter, key);
    for (let i = 0; i < 10; i++) await scenario.limiter.check(key, 1);
    expect(bans).toMatchObject([{ subject: key.name, level: 1 }]);
  });

  test('without Redis, and counts among the bans until it ends', async () => {
    const { observer, bans, places } = createObserver();
    let nowMs = 1_700_000_000_000;
    const limiter = new InProcessLimiter({ nowMs: () => nowMs, observer });
    const [key, well] = [newKey(3, 1_000), newKey(3, 1_000)];
    limiter.check(well, 1);
    expect(limiter.countBans()).toBe(0);
    const { bannedUntilMs } = await hammer(limiter, key);
    limiter.check(key, 1);
    expect(bans).toMatchObject([{ subject: key.name, level: 1 }]);
    expect(new Set(places)).toEqual(new Set(['process']));
    expect(limiter.countBans()).toBe(1);
    nowMs = bannedUntilMs - 1;
    expect(limiter.countBans()).toBe(1);
    nowMs = bannedUntilMs;
    expect(limiter.countBans()).toBe(0);
  });
});
