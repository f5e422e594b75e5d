import type { RateLimitSnapshot, WindowStatus } from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';

/** Reads the result of a peek from a reply of check.lua. */
export function readSnapshot(reply: Buffer, offset: number, subject: RateLimitSubject): RateLimitSnapshot {
  const atMs = reply.readDoubleLE();
  const [minuteUsed, dayUsed] = [reply.readUInt32LE(offset + 1), reply.readUInt32LE(offset + 9)];
  const windowOf = (limit: number, used: number, at: number): WindowStatus => ({
    limit,
    remaining: Math.max(0, limit - used),
    resetAtMs: atMs + reply.readUInt32LE(at),
  });
  const banMs = reply.readUInt32LE(offset + 25);
  return {
    outcome: 'snapshot',
    atMs,
    minute: windowOf(subject.perMinute, minuteUsed, offset + 5),
    day: subject.perDay === undefined ? undefined : windowOf(subject.perDay, dayUsed, offset + 13),
    used: { minute: minuteUsed, day: subject.perDay === undefined ? undefined : dayUsed },
    strikes: reply.readUInt32LE(offset + 17),
    ban: banMs === 0 ? undefined : { untilMs: atMs + banMs, level: reply.readUInt32LE(offset + 21) },
  };
}
