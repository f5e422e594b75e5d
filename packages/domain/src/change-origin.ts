import { type Actor, type Brand, SERVICE_ACTOR } from './ids.ts';

/** A text by which a caller names the placing of one order, so that the same call made again places no second one. */
export type IdempotencyKey = Brand<string, 'IdempotencyKey'>;

export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

const PRINTABLE_ASCII = /^[ -~]+$/;

/** @returns the key, or `undefined` if the text is not 1 to {@link IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters */
export const parseIdempotencyKey = (text: string): IdempotencyKey | undefined =>
  text.length <= IDEMPOTENCY_KEY_LENGTH_MAX && PRINTABLE_ASCII.test(text) ? (text as IdempotencyKey) : undefined; // it was checked

/** For how long the placing of an order is remembered by its key, in milliseconds. */
export const IDEMPOTENCY_KEY_TTL_MS = 24 * 60 * 60_000;

/** On whose behalf an order is changed, and by which request. Recorded with the change. */
export interface ChangeOrigin {
  readonly actor: Actor;
  readonly requestId?: string | undefined;
}

/** A change that no caller asked for. */
export const SERVICE_ORIGIN: ChangeOrigin = { actor: SERVICE_ACTOR };

/** Thrown if the actor has used the idempotency key to place an order of other facts. */
export class IdempotencyKeyReusedError extends Error {
  override readonly name = 'IdempotencyKeyReusedError';
}
