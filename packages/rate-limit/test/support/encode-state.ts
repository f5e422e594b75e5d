import { NO_PENALTY, type Penalty } from '../../src/algorithm/penalty.ts';
import type { SubjectState } from '../../src/algorithm/subject-state.ts';
import type { WindowLog } from '../../src/algorithm/window-log.ts';

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
const HOUR_MS = 3_600_000;
const MODULUS = 2 ** 32;

const modulo = (value: number): number => ((value % MODULUS) + MODULUS) % MODULUS;

/** The bytes of a state as the script writes them: check.lua has the layout. */
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
  if (penalty !== NO_PENALTY) writePenalty(bytes, atMs, penalty);
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

function writePenalty(bytes: Buffer, atMs: number, { counts, queueEndMs, banUntilMs, banLevel }: Penalty): void {
  const [first, second, third, fourth, fifth, sixth] = counts;
  const mark = modulo(Math.max(queueEndMs, atMs) + HOUR_MS);
  let offset = PENALTY_OFFSET;
  for (const number of [mark, first, second, third, fourth, modulo(banUntilMs), fifth, sixth]) {
    offset = bytes.writeUInt32LE(number, offset);
  }
  bytes.writeUInt8(banLevel, offset);
}
