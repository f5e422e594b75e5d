import { type Actor, type Brand, SERVICE_ACTOR } from './ids.ts';

/** A text by which a caller names the placing of one order: repeating the call with it does not place a second order. */
export type IdempotencyKey = Brand<string, 'IdempotencyKey'>;

export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

const PRINTABLE_ASCII = /^[ -~]+$/;

/** @returns the key, or `undefined` if the text is not 1 to {@link IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters */
export const parseIdempotencyKey = (text: string): IdempotencyKey | undefined =>
  text.length <= IDEMPOTENCY_KEY_LENGTH_MAX && PRINTABLE_ASCII.test(text) ? (text as IdempotencyKey) : undefined; // it was checked

/** How long an idempotency key is remembered, in milliseconds. */
export const IDEMPOTENCY_KEY_TTL_MS = 24 * 60 * 60_000;

/** On whose behalf an order is changed, and by which request. Recorded with the change. */
export interface ChangeOrigin {
  readonly actor: Actor;
  readonly requestId?: string | undefined;
}

/** A change that no caller asked for. */
export const SERVICE_ORIGIN: ChangeOrigin = { actor: SERVICE_ACTOR };
