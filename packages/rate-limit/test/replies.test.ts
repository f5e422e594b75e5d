import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  connectRedis,
  createResilientLimiter,
  type RateLimitDecision,
  type RateLimitSnapshot,
  RedisUnavailableError,
} from '../src/index.ts';
import { RedisLimiter } from '../src/redis/redis-limiter.ts';
import { bulk, FalseRedis } from './support/false-redis.ts';
import { eventually, untilInUse } from './support/fault-scenario.ts';
import { newKey, PROPERTY_RUNS } from './support/traffic.ts';

const HEADER_BYTES = 8;
const RESULT_BYTES = 29;

/** A reply such as check.lua gives to that many requests. */
function checkReply(count: number, { atMs = 1_700_000_000_000, code = 0 } = {}): Buffer {
  const reply = Buffer.alloc(HEADER_BYTES + count * RESULT_BYTES);
  reply.writeDoubleLE(atMs);
  for (let i = 0; i < count; i++) reply.writeUInt8(code, HEADER_BYTES + i * RESULT_BYTES);
  return reply;
}

const line = (sign: string, text: string) => Buffer.from(`${sign}${text}\r\n`);
const bytes = (max: number) => fc.uint8Array({ maxLength: max }).map((array) => Buffer.from(array));
/** Of the right length, and of nonsense. */
const damaged = fc
  .tuple(fc.double(), fc.uint8Array({ minLength: RESULT_BYTES, maxLength: RESULT_BYTES }))
  .map(([atMs, answer]) => Buffer.concat([checkReply(0, { atMs }), Buffer.from(answer)]));
const scalar = fc.oneof(
  fc.constant(line('$', '-1')),
  fc.constant(line('*', '-1')),
  fc.integer().map((number) => line(':', String(number))),
  fc.stringMatching(/^[\w ]{0,20}$/).map((text) => line('+', text)),
  fc.stringMatching(/^[A-Z]{1,9} [\w ]{0,20}$/).map((text) => line('-', text)),
  bytes(100).map(bulk),
  fc.integer({ min: 0, max: 999_999_999_999 }).map((number) => bulk(Buffer.from(String(number)))),
  damaged.map(bulk),
);
const list = (item: fc.Arbitrary<Buffer>) =>
  fc.array(item, { maxLength: 3 }).map((items) => Buffer.concat([line('*', String(items.length)), ...items]));
/** Any reply that the protocol allows. */
const anyReply = fc.oneof(scalar, list(scalar), list(fc.oneof(scalar, list(scalar))));

function expectStatus({ atMs, minute, day }: RateLimitDecision | RateLimitSnapshot): void {
  for (const number of [atMs, minute.remaining, minute.resetAtMs, day?.remaining, day?.resetAtMs]) {
    expect(number).toSatisfy(Number.isFinite);
  }
  expect(new Date(minute.resetAtMs).toISOString()).toMatch(/Z$/);
}

describe('whatever a server replies', () => {
  test('a call gets a result, or fails', async () => {
    await using server = new FalseRedis(() => undefined);
    const redis = connectRedis(await server.listen());
    await new Promise((resolve) => redis.once('ready', resolve));
    const limiter = new RedisLimiter({ redis, timeoutMs: 30_000 });
    const record = { successes: 0, failures: 0 };
    limiter.breaker.recordSuccess = () => void record.successes++;
    limiter.breaker.recordFailure = () => void record.failures++;
    let calls = 0;
    let failures = 0;
    const settle = async <Result>(call: Promise<Result>): Promise<Result | undefined> => {
      calls += 1;
      try {
        return await call;
      } catch (error) {
        failures += 1;
        expect(error).toBeInstanceOf(RedisUnavailableError);
        return undefined;
      }
    };
    await fc.assert(
      fc.asyncProperty(anyReply, async (reply) => {
        server.reply = () => reply;
        const subject = newKey(60, 1_000);
        const decision = await settle(limiter.check(subject, 1));
        if (decision !== undefined) expectStatus(decision);
        const snapshot = await settle(limiter.peek(subject));
        if (snapshot !== undefined) expectStatus(snapshot);
        await settle(limiter.debit(subject, { minute: 1, day: 1 }));
      }),
      { numRuns: PROPERTY_RUNS * 4 },
    );
    expect(record).toEqual({ successes: calls - failures, failures });
    expect(failures).toBeGreaterThan(calls / 2);
    redis.disconnect();
  });

  test.concurrent.each([
    ['too short', bulk(checkReply(1).subarray(1))],
    ['too long', bulk(Buffer.concat([checkReply(1), Buffer.alloc(1)]))],
    ['empty', bulk(Buffer.alloc(0))],
    ['no string', line(':', '37')],
    ['nothing', line('$', '-1')],
    ['of an unknown outcome', bulk(checkReply(1, { code: 7 }))],
    ['of no time', bulk(checkReply(1, { atMs: Number.NaN }))],
  ])('a reply that is %s leaves the decision to this process, and opens the breaker after five', async (_, reply) => {
    await using server = new FalseRedis(() => bulk(checkReply(1)));
    const redis = connectRedis(await server.listen());
    const limiter = createResilientLimiter({ redis, timeoutMs: 30_000 });
    await untilInUse(limiter);
    server.reply = () => reply;
    const subject = newKey(60, 1_000);
    for (let used = 1; used <= 5; used++) {
      expect(limiter.isDegraded).toBe(false);
      expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted', minute: { remaining: 60 - used } });
    }
    expect(limiter.isDegraded).toBe(true);
    server.reply = () => bulk(checkReply(1));
    await eventually(async () => expect(limiter.isDegraded).toBe(false));
    limiter.close();
    redis.disconnect();
  });

  test('a late reply that is invalid says nothing about what has run', async () => {
    await using server = new FalseRedis(() => undefined);
    const redis = connectRedis(await server.listen());
    await new Promise((resolve) => redis.once('ready', resolve));
    const limiter = new RedisLimiter({ redis, timeoutMs: 20 });
    const error = await limiter.debit(newKey(60, 1_000), { minute: 1, day: 1 }).catch((cause: unknown) => cause);
    if (!(error instanceof RedisUnavailableError)) expect.fail('it did not time out');
    expect(error.message).toContain('within 20 ms');
    server.send(bulk(Buffer.alloc(3)));
    expect(await error.lateDecision).toBe('unknown');
    redis.disconnect();
  });
});
