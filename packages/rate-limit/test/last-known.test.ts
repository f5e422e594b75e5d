import { createTestRedis, PATIENTLY, type TestRedis } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { connectRedis, ResilientLimiter, refusalByBan } from '../src/index.ts';
import { LastKnown } from '../src/last-known.ts';
import { movableClock, PATIENT } from './support/fault-scenario.ts';
import { checkState, hammer, newAddress, newKey } from './support/traffic.ts';

const T0 = 1_700_000_000_000;

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
    const memory = new LastKnown();
    let state = checkState(undefined, address, 1, T0).state;
    for (let i = 1; i < 60; i++) state = checkState(state, address, 1, T0 + i * 100).state;
    const { decision } = checkState(state, address, 1, T0 + 6_000);
    if (decision.outcome !== 'refused') throw new Error('61 requests do not fit');
    memory.remember(address, decision, T0);
    const retryAtMs = decision.atMs + decision.retryAfterSeconds * 1_000;
    const lastMs = decision.releaseAtMs - decision.atMs - 1;
    for (const afterMs of [0, 1, 20_000, lastMs]) {
      const refusal = memory.refusalInForce(address, T0 + afterMs, false);
      expect(refusal).toMatchObject({ outcome: 'refused', atMs: decision.atMs + afterMs });
      const seconds = Math.max(1, Math.ceil((retryAtMs - decision.atMs - afterMs) / 1_000));
      expect(refusal?.retryAfterSeconds).toBe(seconds);
    }
    expect(memory.refusalInForce(address, T0 + lastMs + 1, false)).toBeUndefined();
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
  test('that a peek shows is remembered, under the same times', async () => {
    await using opened = await openLimiter();
    const { limiter, commands, clock } = opened;
    const key = newKey(2, 1_000);
    const { bannedUntilMs } = await hammer(limiter, key);
    clock.advance(5_000); // past what is remembered of it
    expect(limiter.lastKnown(key).outcome).toBe('last known');
    expect(refusalByBan(await limiter.peek(key))).toMatchObject({ outcome: 'banned', bannedUntilMs });
    const before = commands();
    for (let i = 0; i < 100; i++) expect(limiter.lastKnown(key)).toMatchObject({ bannedUntilMs });
    expect(commands()).toBe(before);
  });
});

describe('a status without asking Redis', () => {
  test('shows no more than remained, until all must have left the window', () => {
    const key = newKey(60, 1_000);
    const memory = new LastKnown();
    memory.remember(key, checkState(undefined, key, 5, T0).decision, T0);
    expect(memory.statusAt(key, T0 + 30_000)).toMatchObject({
      minute: { remaining: 55, resetAtMs: T0 + 61_000 },
      day: { remaining: 995 },
    });
    expect(memory.statusAt(key, T0 + 61_000)).toMatchObject({ minute: { remaining: 60 }, day: { remaining: 995 } });
    // Another plan since.
    expect(memory.statusAt({ ...key, perMinute: 10 }, T0)).toMatchObject({ minute: { limit: 10, remaining: 5 } });
    expect(memory.statusAt({ ...key, perMinute: 80 }, T0)).toMatchObject({ minute: { limit: 80, remaining: 75 } });
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
    const memory = new LastKnown();
    memory.remember(key, checkState(undefined, key, 5, T0 - 7_200_000).decision, T0);
    expect(memory.statusAt(key, T0)).toMatchObject({ atMs: T0 - 7_200_000, minute: { remaining: 55 } });
    expect(memory.statusAt(key, T0 + 61_000)).toMatchObject({ minute: { remaining: 60 } });
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

test('a limit that was used up by a clock that has been set back is no longer', () => {
  const memory = new LastKnown();
  const key = newKey(10, 100);
  const { decision } = checkState(undefined, key, 10, T0 + 7_200_000);
  memory.remember(key, decision, T0);
  const later = checkState(undefined, key, 1, T0).decision;
  expect(memory.remember(key, later, T0).outcome).toBe('admitted');
});
