import { NO_PENALTY, type Penalty } from './penalty.ts';
import type { SubjectState } from './subject-state.ts';
import { EMPTY_LOG, type WindowLog } from './window-log.ts';

/*
 * A state as Redis keeps it, little endian. A key that was rarely used and never refused takes 42 bytes, which Redis
 * keeps in one small allocation. All but the last part is the front, which most requests need alone.
 *
 *    0  u8   version: 1, or 2 where a penalty follows
 *    1  u8   closed entries of the minute
 *    2  u48  time of the last change, milliseconds since the epoch
 *    8  u16  closed entries of the day
 *   10  u32  minute: open entry's beginning, last hit, count; total
 *   26  u32  day: the same
 *  [42  u32  penalty: span start, strikes, returns due, returns pending, first return, ban end
 *   66  f64  last promise
 *   74  u8   ban level]
 *       the oldest closed entry of the minute, then of the day, where there are any: u32 last hit, u32 count
 *       the other closed entries of the minute, then of the day
 *
 * Every other time is kept modulo 2^32 ms (49 days) and lies within 25 hours of the time of the last change.
 */
const PLAIN_VERSION = 1;
const PENALTY_VERSION = 2;
const PLAIN_HEADER_BYTES = 42;
const PENALTY_HEADER_BYTES = 75;
const MINUTE_OFFSET = 10;
const DAY_OFFSET = 26;
const PENALTY_OFFSET = 42;
const ENTRY_BYTES = 8;
/** A log holds its closed entries flat, two numbers each. */
const ENTRY_NUMBERS = 2;
const MODULUS = 2 ** 32;

const modulo = (value: number): number => ((value % MODULUS) + MODULUS) % MODULUS;

/** The bytes of a state, as the script writes it. */
export function encodeState({ atMs, minute, day, penalty }: SubjectState): Buffer {
  const header = penalty === NO_PENALTY ? PLAIN_HEADER_BYTES : PENALTY_HEADER_BYTES;
  const minuteClosed = minute.closed.length / ENTRY_NUMBERS;
  const dayClosed = day.closed.length / ENTRY_NUMBERS;
  const bytes = Buffer.alloc(header + (minuteClosed + dayClosed) * ENTRY_BYTES);
  bytes.writeUInt8(penalty === NO_PENALTY ? PLAIN_VERSION : PENALTY_VERSION, 0);
  bytes.writeUInt8(minuteClosed, 1);
  bytes.writeUIntLE(atMs, 2, 6);
  bytes.writeUInt16LE(dayClosed, 8);
  writeLog(bytes, MINUTE_OFFSET, minute);
  writeLog(bytes, DAY_OFFSET, day);
  if (penalty !== NO_PENALTY) writePenalty(bytes, penalty);
  const oldest = [minute.closed.slice(0, ENTRY_NUMBERS), day.closed.slice(0, ENTRY_NUMBERS)];
  const others = [minute.closed.slice(ENTRY_NUMBERS), day.closed.slice(ENTRY_NUMBERS)];
  let offset = header;
  for (const [i, number] of [...oldest, ...others].flat().entries()) {
    offset = bytes.writeUInt32LE(i % ENTRY_NUMBERS === 0 ? modulo(number) : number, offset);
  }
  return bytes;
}

function writeLog(bytes: Buffer, offset: number, log: WindowLog): void {
  bytes.writeUInt32LE(modulo(log.openBeginMs), offset);
  bytes.writeUInt32LE(modulo(log.openLastMs), offset + 4);
  bytes.writeUInt32LE(log.openCount, offset + 8);
  bytes.writeUInt32LE(log.total, offset + 12);
}

function writePenalty(bytes: Buffer, penalty: Penalty): void {
  const { spanStartMs, strikes, returnsDue, returnsPending, firstReturnMs, banUntilMs } = penalty;
  let offset = PENALTY_OFFSET;
  for (const number of [modulo(spanStartMs), strikes, returnsDue, returnsPending]) {
    offset = bytes.writeUInt32LE(number, offset);
  }
  offset = bytes.writeUInt32LE(modulo(firstReturnMs), offset);
  offset = bytes.writeUInt32LE(modulo(banUntilMs), offset);
  offset = bytes.writeDoubleLE(penalty.lastPromiseMs, offset);
  bytes.writeUInt8(penalty.banLevel, offset);
}

/** Reads what {@link encodeState} or the script wrote; `undefined` where it is neither. */
export function decodeState(bytes: Buffer): SubjectState | undefined {
  const version = bytes.length >= PLAIN_HEADER_BYTES ? bytes.readUInt8(0) : 0;
  if (version !== PLAIN_VERSION && version !== PENALTY_VERSION) return undefined;
  const header = version === PLAIN_VERSION ? PLAIN_HEADER_BYTES : PENALTY_HEADER_BYTES;
  const minuteClosed = bytes.readUInt8(1);
  const dayClosed = bytes.readUInt16LE(8);
  if (bytes.length !== header + (minuteClosed + dayClosed) * ENTRY_BYTES) return undefined;
  const atMs = bytes.readUIntLE(2, 6);
  const numbers: number[] = [];
  for (let offset = header; offset < bytes.length; offset += ENTRY_BYTES) {
    numbers.push(pastMs(bytes.readUInt32LE(offset), atMs), bytes.readUInt32LE(offset + 4));
  }
  const oldest = [takeEntries(numbers, Math.min(minuteClosed, 1)), takeEntries(numbers, Math.min(dayClosed, 1))];
  const otherMinute = takeEntries(numbers, Math.max(minuteClosed - 1, 0));
  return {
    atMs,
    minute: readLog(bytes, MINUTE_OFFSET, [...(oldest[0] ?? []), ...otherMinute], atMs),
    day: readLog(bytes, DAY_OFFSET, [...(oldest[1] ?? []), ...numbers], atMs),
    penalty: version === PLAIN_VERSION ? NO_PENALTY : readPenalty(bytes, atMs),
  };
}

/** Takes the first entries off. */
const takeEntries = (numbers: number[], count: number): number[] => numbers.splice(0, count * ENTRY_NUMBERS);

const pastMs = (stored: number, atMs: number): number => atMs - modulo(atMs - stored);

function nearMs(stored: number, atMs: number): number {
  const ahead = modulo(stored - atMs);
  return atMs + (ahead < MODULUS / 2 ? ahead : ahead - MODULUS);
}

function readLog(bytes: Buffer, offset: number, closed: readonly number[], atMs: number): WindowLog {
  const openCount = bytes.readUInt32LE(offset + 8);
  if (openCount === 0) return EMPTY_LOG;
  const openBeginMs = pastMs(bytes.readUInt32LE(offset), atMs);
  const openLastMs = pastMs(bytes.readUInt32LE(offset + 4), atMs);
  return { closed, openBeginMs, openLastMs, openCount, total: bytes.readUInt32LE(offset + 12) };
}

const readPenalty = (bytes: Buffer, atMs: number): Penalty => ({
  spanStartMs: nearMs(bytes.readUInt32LE(PENALTY_OFFSET), atMs),
  strikes: bytes.readUInt32LE(PENALTY_OFFSET + 4),
  returnsDue: bytes.readUInt32LE(PENALTY_OFFSET + 8),
  returnsPending: bytes.readUInt32LE(PENALTY_OFFSET + 12),
  firstReturnMs: nearMs(bytes.readUInt32LE(PENALTY_OFFSET + 16), atMs),
  banUntilMs: nearMs(bytes.readUInt32LE(PENALTY_OFFSET + 20), atMs),
  lastPromiseMs: bytes.readDoubleLE(PENALTY_OFFSET + 24),
  banLevel: bytes.readUInt8(PENALTY_OFFSET + 32),
});
