const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a duration of settings and commands: `30s`, `15m`, `24h`, `90d`. @returns milliseconds, or `undefined` */
export function parseDurationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]; // by the pattern
}
