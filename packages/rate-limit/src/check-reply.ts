import { type RateLimitDecision, type WindowName, wholeSecondsUntil } from './rate-limiter.ts';
import type { RateLimitSubject } from './subject.ts';

/** Bytes before the first answer: the time. */
const REPLY_HEADER_BYTES = 8;
/** Bytes of one answer. */
const REPLY_ANSWER_BYTES = 29;

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
