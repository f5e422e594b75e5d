import { type Actor, type Brand, SERVICE_ACTOR } from './ids.ts';

/** A text by which a caller names one call, so that the same call made again is not carried out twice. */
export type IdempotencyKey = Brand<string, 'IdempotencyKey'>;

export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

const PRINTABLE_ASCII = /^[ -~]+$/;

/** @returns the key, or `undefined` where the text is not 1 to {@link IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters */
export const parseIdempotencyKey = (text: string): IdempotencyKey | undefined =>
  text.length <= IDEMPOTENCY_KEY_LENGTH_MAX && PRINTABLE_ASCII.test(text) ? (text as IdempotencyKey) : undefined; // it was checked

/** For how long a call is remembered by its key, in milliseconds. */
export const IDEMPOTENCY_KEY_TTL_MS = 24 * 60 * 60_000;

/** On whose behalf an order is changed, and by which request. Recorded with the change. */
export interface ChangeOrigin {
  readonly actor: Actor;
  readonly requestId?: string | undefined;
}

/** A change that no caller asked for. */
export const SERVICE_ORIGIN: ChangeOrigin = { actor: SERVICE_ACTOR };

/** Thrown where an idempotency key was used for another call. */
export class IdempotencyKeyReusedError extends Error {
  override readonly name = 'IdempotencyKeyReusedError';
}
