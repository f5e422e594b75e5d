import { parseRfc3339 } from '@petstore/domain';

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d{1,9})([smhd])$/;

/** Reads a time to come: a duration from now (`30s`, `15m`, `24h`, `90d`), or a date-time of RFC 3339. */
export function parseTimeToCome(text: string, now: Date): Date | undefined {
  const match = DURATION.exec(text);
  if (match === null) return parseRfc3339(text);
  const unitMs = UNITS_MS[match[2] as keyof typeof UNITS_MS]; // as the pattern has it
  return new Date(now.getTime() + Number(match[1]) * unitMs);
}
