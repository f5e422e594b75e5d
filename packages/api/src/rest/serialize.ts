import type { RestResult } from './rest-route.ts';

/** As JSON, 64-bit integers as bare digits. For short responses: the whole text is made at once. */
export const serializeJson = (output: unknown): RestResult => ({
  type: 'json',
  text: JSON.stringify(output, (_, value: unknown) => (typeof value === 'bigint' ? rawJson(value) : value)),
});

// TypeScript's libraries do not know JSON.rawJSON (ES2026) yet.
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
const rawJson = (value: bigint): unknown => rawJSON(value.toString());
