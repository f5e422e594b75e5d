import { createTestRedis, PATIENTLY, type TestRedis } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { createBannedDecision } from '../src/decision.ts';
import { DecisionMemory } from '../src/decision-memory.ts';
import { connectRedis, ResilientLimiter } from '../src/index.ts';
import { movableClock, PATIENT } from './support/fault-scenario.ts';
import { checkState, newAddress, newKey } from './support/traffic.ts';

const T0 = 1_700_000_000_000;

/** A memory whose clock is set by each call. */
function openMemory() {
  let nowMs = T0;
  const memory = new DecisionMemory(() => nowMs);
  const at = (ms: number): DecisionMemory => {
    nowMs = ms;
    return memory;
  };
  return { at };
}

function connect({ url }: TestRedis) {
  const { hostname: host, port, pathname } = new URL(url);
  const database = Number(pathname.slice(1));
  return connectRedis({ type: 'single', host, port: Number(port), database, tls: false }, PATIENT);
}

async function openLimiter() {
  const redis = await createTestRedis();
  const connection = connect(redis);
  const clock = movableClock();
  const limiter = new ResilientLimiter({ redis: connection, nowMs: clock.nowMs });
  await limiter.started;
  const sendCommand = vi.spyOn(connection, 'sendCommand'); // and sends it
  return {
    limiter,
    clock,
    connection,
    /** How many commands were sent to Redis. */
    commands: () => sendCommand.mock.calls.length,
    async [Symbol.asyncDispose]() {
      limiter.close();
      connection.disconnect();
      await redis[Symbol.asyncDispose]();
    },
  };
}

describe('an address over its limit', () => {
  test('is refused from memory until its next unit is freed, with the same time to retry at', () => {
    const address = newAddress();
    const { at } = openMemory();
    let state = checkState(undefined, address, 1, T0).state;
    for (let i = 1; i < 60; i++) state = checkState(state, address, 1, T0 + i * 100).state;
    const { decision } = checkState(state, address, 1, T0 + 6_000);
    if (decision.outcome !== 'refused') throw new Error('61 requests do not fit');
    at(T0).remember(address, decision);
    const retryAtMs = decision.atMs + decision.retryAfterSeconds * 1_000;
    const lastMs = decision.releaseAtMs - decision.atMs - 1;
    for (const afterMs of [0, 1, 20_000, lastMs]) {
      const refusal = at(T0 + afterMs).refusalInForce(address);
      expect(refusal).toMatchObject({ outcome: 'refused', atMs: decision.atMs + afterMs });
      const seconds = Math.max(1, Math.ceil((retryAtMs - decision.atMs - afterMs) / 1_000));
      expect(refusal?.retryAfterSeconds).toBe(seconds);
    }
    expect(at(T0 + lastMs + 1).refusalInForce(address)).toBeUndefined();
    // There is room again, as the limiter itself says.
    expect(checkState(state, address, 1, decision.releaseAtMs).decision.outcome).toBe('admitted');
  });

  test('costs Redis nothing more, and a key that is used up is asked about each time', async () => {
    await using opened = await openLimiter();
    const { limiter, commands } = opened;
    const address = newAddress();
    for (let i = 0; i < 61; i++) await limiter.check(address, 1);
    const before = commands();
    for (let i = 0; i < 1_000; i++) expect(limiter.check(address, 1)).toMatchObject({ outcome: 'refused' });
    expect(limiter.lastKnown(address)).toMatchObject({ outcome: 'refused', minute: { remaining: 0 } });
    expect(commands()).toBe(before);
    const key = newKey(1, 10);
    for (let i = 0; i < 5; i++) await limiter.check(key, 1);
    expect(commands()).toBe(before + 5);
    expect(limiter.lastKnown(key)).toMatchObject({ outcome: 'last known', minute: { remaining: 0 } });
  });
});

describe('a ban', () => {
  test('is remembered for 5 s: one that was lifted ends everywhere within this time', () => {
    const key = newKey(2, 1_000);
    const { at } = openMemory();
    const ban = { untilMs: T0 + 60_000, level: 1 };
    const { decision } = checkState(undefined, key, 1, T0);
    at(T0).remember(key, createBannedDecision(decision, ban, { window: 'none', releaseAtMs: T0 }, true));
    const later = { outcome: 'banned', bannedUntilMs: T0 + 60_000, isNew: false, retryAfterSeconds: 56 };
    expect(at(T0 + 4_999).refusalInForce(key)).toMatchObject(later);
    expect(at(T0 + 5_000).refusalInForce(key)).toBeUndefined();
  });
});

describe('a status without asking Redis', () => {
  test('shows no more than remained, until all must have left the window', () => {
    const key = newKey(60, 1_000);
    const { at } = openMemory();
    at(T0).remember(key, checkState(undefined, key, 5, T0).decision);
    expect(at(T0 + 30_000).statusOf(key)).toMatchObject({
      minute: { remaining: 55, resetAtMs: T0 + 61_000 },
      day: { remaining: 995 },
    });
    expect(at(T0 + 61_000).statusOf(key)).toMatchObject({ minute: { remaining: 60 }, day: { remaining: 995 } });
    // Another plan since.
    expect(at(T0).statusOf({ ...key, perMinute: 10 })).toMatchObject({ minute: { limit: 10, remaining: 5 } });
    expect(at(T0).statusOf({ ...key, perMinute: 80 })).toMatchObject({ minute: { limit: 80, remaining: 75 } });
  });

  test('is that of the process while Redis is away', async () => {
    await using opened = await openLimiter();
    const { limiter, connection } = opened;
    connection.disconnect();
    const [key, address] = [newKey(60, 1_000), newAddress()];
    await vi.waitFor(async () => {
      await limiter.check(newKey(60, 1_000), 1);
      expect(limiter.isDegraded).toBe(true);
    }, PATIENTLY);
    await limiter.check(key, 5);
    expect(limiter.lastKnown(key)).toMatchObject({ outcome: 'last known', minute: { remaining: 55 } });
    for (let i = 0; i < 61; i++) await limiter.check(address, 1);
    expect(limiter.lastKnown(address)).toMatchObject({ outcome: 'refused', minute: { remaining: 0 } });
  });

  test('goes by the clock of Redis, however far that is from the one of the process', () => {
    const key = newKey(60, 1_000);
    const { at } = openMemory();
    at(T0).remember(key, checkState(undefined, key, 5, T0 - 7_200_000).decision);
    expect(at(T0).statusOf(key)).toMatchObject({ atMs: T0 - 7_200_000, minute: { remaining: 55 } });
    expect(at(T0 + 61_000).statusOf(key)).toMatchObject({ minute: { remaining: 60 } });
  });
});

test('a clock of this process that is set back makes no refusal last for longer', async () => {
  await using redis = await createTestRedis();
  const connection = connect(redis);
  const limiter = new ResilientLimiter({ redis: connection });
  await limiter.started;
  const address = newAddress();
  while ((await limiter.check(address, 1)).outcome === 'admitted');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  const refused = await limiter.check(address, 1);
  vi.useRealTimers();
  limiter.close();
  connection.disconnect();
  expect(refused).toMatchObject({ outcome: 'refused' });
  expect(refused.outcome === 'refused' && refused.retryAfterSeconds).toBeLessThanOrEqual(61);
});
