import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ApiKeySubject, connectRedis, type ServingLimiter } from '../src/index.ts';
import { RedisLimiter } from '../src/redis/redis-limiter.ts';
import { eventually, openLimiter, PATIENT } from './support/fault-scenario.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { newKey, PROPERTY_RUNS } from './support/traffic.ts';

const PROCESSES = 3;
const DELAY_MAX_MS = 3;
const START_MS = 1_700_000_000_000;

let database: TestRedis;
let redis: Redis;
const cleanup = new AsyncDisposableStack();
const limiters: ServingLimiter[] = [];
let nowMs = START_MS;

beforeAll(async () => {
  database = cleanup.use(await createTestRedis());
  redis = new Redis(database.url);
  const { hostname: host, port, pathname } = new URL(database.url);
  for (let i = 0; i < PROCESSES; i++) {
    const proxy = cleanup.use(new TcpProxy(Number(port), () => Math.random() * DELAY_MAX_MS));
    const connection = connectRedis({
      type: 'single',
      host,
      port: await proxy.listen(),
      database: Number(pathname.slice(1)),
      tls: false,
    });
    limiters.push(cleanup.use(await openLimiter({ ...PATIENT, redis: connection, nowMs: () => nowMs })).limiter);
  }
});
afterAll(async () => {
  await cleanup.disposeAsync();
  redis.disconnect();
});

/** What happens to the state of a key: it goes, or an earlier one comes back, as with a replica that follows behind. */
type Loss = 'gone' | 'earlier';

interface Round {
  /** Of all keys before this round. */
  readonly gapMs: number;
  readonly costs: readonly number[];
  readonly loss: Loss | undefined;
  /** Whether the loss comes while requests are under way, and not between them. */
  readonly isDuring: boolean;
}

const cost = fc.oneof(
  { weight: 5, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
);

// All within a minute, so that no unit leaves a window.
const rounds = (loss: fc.Arbitrary<Loss | undefined>): fc.Arbitrary<Round[]> =>
  fc.array(
    fc.record({
      gapMs: fc.integer({ min: 0, max: 1_400 }),
      costs: fc.array(cost, { minLength: PROCESSES, maxLength: PROCESSES }),
      loss,
      isDuring: fc.boolean(),
    }),
    { minLength: 10, maxLength: 40, size: 'max' },
  );

const plan = fc.record({ perMinute: fc.integer({ min: 5, max: 80 }), perDay: fc.integer({ min: 5, max: 80 }) });

/** Every process sends one request a round, all at once. */
async function run(subject: ApiKeySubject, all: readonly Round[]) {
  let [admitted, mayPass] = [0, 0];
  let earlier: Buffer | null = null;
  const lose = async (loss: Loss | undefined) => {
    if (loss === undefined) return;
    if (loss === 'gone' || earlier === null) await redis.del(subject.storageKey);
    else await redis.restore(subject.storageKey, 1_000_000, earlier, 'REPLACE');
  };
  for (const [i, { gapMs, costs, loss, isDuring }] of all.entries()) {
    nowMs += gapMs;
    if (i % 4 === 0) earlier = await redis.dumpBuffer(subject.storageKey);
    if (!isDuring) await lose(loss);
    const [decisions] = await Promise.all([
      Promise.all(limiters.map((limiter, j) => limiter.check(subject, costs[j] ?? 1))),
      isDuring ? lose(loss) : undefined,
    ]);
    for (const [j, { outcome }] of decisions.entries()) if (outcome === 'admitted') admitted += costs[j] ?? 1;
    // One request of each process may pass. The next one does where this one came before the loss, or where it comes
    // before another process, which had seen more, has said what that was.
    const passing = loss === undefined ? [] : [...costs, ...(all[i + 1]?.costs ?? [])];
    mayPass += passing.reduce((sum, cost) => sum + cost, 0);
  }
  return { admitted, mayPass };
}

test('whatever Redis loses, and whenever, no more is admitted than the limit and one request of each process a loss', async () => {
  const loss = fc.oneof(
    { weight: 28, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant<Loss>('gone') },
    { weight: 1, arbitrary: fc.constant<Loss>('earlier') },
  );
  let losses = 0;
  const property = fc.asyncProperty(plan, rounds(loss), async ({ perMinute, perDay }, all) => {
    const subject = newKey(perMinute, perDay);
    const { admitted, mayPass } = await run(subject, all);
    expect(admitted).toBeLessThanOrEqual(Math.min(perMinute, perDay) + mayPass);
    // Nothing is counted twice.
    const snapshots = await Promise.all(limiters.map((limiter) => limiter.peek(subject)));
    for (const { used } of snapshots) expect(used.day).toBeLessThanOrEqual(admitted);
    losses += all.filter(({ loss }) => loss !== undefined).length;
  });
  await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 5), endOnFailure: true });
  expect(losses).toBeGreaterThan(PROPERTY_RUNS / 10);
});

test('as long as Redis loses nothing, nothing is counted again', async () => {
  const raise = vi.spyOn(RedisLimiter.prototype, 'raise'); // and sends it
  const property = fc.asyncProperty(plan, rounds(fc.constant(undefined)), async ({ perMinute, perDay }, all) => {
    const subject = newKey(perMinute, perDay);
    const { admitted } = await run(subject, all);
    expect(admitted).toBeLessThanOrEqual(Math.min(perMinute, perDay));
    expect((await limiters[0]?.peek(subject))?.used.day).toBe(admitted);
  });
  await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 10), endOnFailure: true });
  expect(raise).not.toHaveBeenCalled();
  // It would have been.
  const subject = newKey(10, 10);
  await limiters[0]?.check(subject, 5);
  await redis.del(subject.storageKey);
  await limiters[0]?.check(subject, 1);
  await eventually(() => expect(raise).toHaveBeenCalledOnce());
  raise.mockRestore();
});
