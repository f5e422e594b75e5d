import { type RateLimitDecision, type WindowName, wholeSecondsUntil } from './rate-limiter.ts';
import { RedisUnavailableError } from './redis-unavailable-error.ts';
import type { RateLimitSubject } from './subject.ts';

/** Bytes before the first answer: the time. */
const REPLY_HEADER_BYTES = 8;
/** Bytes of one answer. */
const REPLY_ANSWER_BYTES = 29;
/** 0 admitted, 1 and 2 exceeded, 3 and 4 banned. */
const CODE_MAX = 4;
/** Beyond it there is no date. */
const TIME_MAX_MS = 8.64e15;

/**
 * Whatever answers need not be the Redis that we think it is: nothing is read from a reply before it was looked at.
 *
 * @param count of the requests that check.lua was asked about
 * @throws RedisUnavailableError where it cannot be the script's
 */
export function assertCheckReply(reply: unknown, count: number): Buffer {
  if (!Buffer.isBuffer(reply)) throw noAnswer('it is no string');
  const length = REPLY_HEADER_BYTES + count * REPLY_ANSWER_BYTES;
  if (reply.length !== length) throw noAnswer(`it has ${reply.length} bytes, and not ${length}`);
  assertTime(readReplyTime(reply));
  for (let offset = REPLY_HEADER_BYTES; offset < length; offset += REPLY_ANSWER_BYTES) {
    const code = reply.readUInt8(offset);
    if (code > CODE_MAX) throw noAnswer(`it has the outcome ${code}`);
  }
  return reply;
}

/** What read.lua tells. */
export interface StoredState {
  /** As it was kept, if any was. */
  readonly stored: Buffer | undefined;
  /** The clock of Redis, in milliseconds since the epoch. */
  readonly redisNowMs: number;
}

/** @throws RedisUnavailableError where a reply cannot be that of read.lua */
export function readStateReply(reply: unknown): StoredState {
  if (!Array.isArray(reply) || reply.length !== 2) throw noAnswer('it is no pair');
  const [stored, time]: readonly unknown[] = reply;
  if (stored !== null && !Buffer.isBuffer(stored)) throw noAnswer('the state is no string');
  if (!Array.isArray(time) || time.length !== 2 || !time.every(isDigits)) throw noAnswer('it has no time');
  const [seconds, microseconds] = time.map(Number);
  const redisNowMs = (seconds ?? 0) * 1000 + Math.floor((microseconds ?? 0) / 1000);
  assertTime(redisNowMs);
  return { stored: stored ?? undefined, redisNowMs };
}

const isDigits = (value: unknown): boolean => Buffer.isBuffer(value) && /^\d+$/.test(value.toString('latin1'));

function assertTime(timeMs: number): void {
  if (!(Math.abs(timeMs) <= TIME_MAX_MS)) throw noAnswer(`it has the time ${timeMs}`);
}

const noAnswer = (reason: string) => new RedisUnavailableError(`Redis sent what is no answer: ${reason}`, true);

/** The time at which Redis decided, in milliseconds since the epoch. */
export const readReplyTime = (reply: Buffer): number => reply.readDoubleLE(0);

/** Reads one answer of check.lua. */
export function readAnswer(reply: Buffer, index: number, subject: RateLimitSubject): RateLimitDecision {
  const atMs = readReplyTime(reply);
  const offset = REPLY_HEADER_BYTES + index * REPLY_ANSWER_BYTES;
  const code = reply.readUInt8(offset);
  const minute = {
    limit: subject.perMinute,
    remaining: reply.readUInt32LE(offset + 1),
    resetAtMs: atMs + reply.readUInt32LE(offset + 5),
  };
  const day =
    subject.perDay === undefined
      ? undefined
      : {
          limit: subject.perDay,
          remaining: reply.readUInt32LE(offset + 9),
          resetAtMs: atMs + reply.readUInt32LE(offset + 13),
        };
  if (code === 0) return { outcome: 'admitted', atMs, minute, day };
  const limitingWindow: WindowName = code % 2 === 1 ? 'minute' : 'day';
  const releaseAtMs = atMs + reply.readUInt32LE(offset + 17);
  const retryAfterSeconds = wholeSecondsUntil(atMs + reply.readUInt32LE(offset + 21), atMs);
  const refusal = { atMs, minute, day, limitingWindow, releaseAtMs, retryAfterSeconds };
  if (code <= 2) return { outcome: 'rate_limit_exceeded', ...refusal };
  return { outcome: 'api_key_banned', ...refusal, bannedUntilMs: atMs + reply.readUInt32LE(offset + 25) };
}
