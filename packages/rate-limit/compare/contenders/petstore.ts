import type { ApiKeyId } from '@petstore/domain';
import { type ApiKeySubject, apiKeySubject, connectRedis, createResilientLimiter } from '../../src/index.ts';
import { ADMITTED, type Contender, LIMIT, type OpenContender, refusedFor } from '../contender.ts';

const PER_DAY = 1_000;
const DAY_ENTRIES = 288;
const DAY_QUANTUM_MS = 300_000;

const subjectOf = (caller: string, perDay = PER_DAY): ApiKeySubject =>
  apiKeySubject(caller as ApiKeyId, { perMinute: LIMIT, perDay }); // a caller stands for a key here

async function openLimiter(redisUrl: string, nowMs?: () => number) {
  const { hostname, port, pathname } = new URL(redisUrl);
  const database = Number(pathname.slice(1));
  const redis = connectRedis({ type: 'single', host: hostname, port: Number(port), database, tls: false });
  const limiter = createResilientLimiter({ redis, ...(nowMs && { nowMs }) });
  await limiter.started;
  const close = () => {
    limiter.close();
    redis.disconnect();
  };
  return { limiter, close };
}

async function open(redisUrl: string): Promise<OpenContender> {
  const { limiter, close } = await openLimiter(redisUrl);
  const subjects = new Map<string, ApiKeySubject>();
  return {
    request: async (caller) => {
      const subject = subjects.get(caller) ?? subjectOf(caller);
      subjects.set(caller, subject);
      const decision = await limiter.check(subject, 1);
      return decision.outcome === 'admitted' ? ADMITTED : refusedFor(decision.retryAfterSeconds);
    },
    [Symbol.asyncDispose]: async () => close(),
  };
}

/** A day by a clock that is moved: a request in each quantum of the day, then one in each of the last minute. */
async function fill(redisUrl: string, caller: string): Promise<void> {
  let nowMs = Date.now() - DAY_ENTRIES * DAY_QUANTUM_MS;
  const { limiter, close } = await openLimiter(redisUrl, () => nowMs);
  const subject = subjectOf(caller);
  for (let i = 0; i < DAY_ENTRIES + LIMIT; i++) {
    await limiter.check(subject, 1);
    nowMs += i < DAY_ENTRIES ? DAY_QUANTUM_MS : 1_000;
  }
  close();
}

/** This package, for the Free plan: a minute and a day at once. */
export const petstore: Contender = { name: 'Petstore Orders', algorithm: 'coalescing log, minute and day', open, fill };
