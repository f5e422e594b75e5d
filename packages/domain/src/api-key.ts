import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Brand } from './ids.ts';
import type { StoredPlan } from './plan.ts';

/** The eight characters that name a key in lists, logs and the command line, which must not show its secret. */
export type ApiKeyId = Brand<string, 'ApiKeyId'>;

/** `external` keys reach the documented operations; `internal` ones also place, ship and complete orders over tRPC. */
export type ApiKeyKind = 'external' | 'internal';

export interface ApiKey {
  readonly id: ApiKeyId;
  readonly name: string;
  readonly kind: ApiKeyKind;
  /** Whether it is read-only. This never changes: it stays read-only when it is rotated. */
  readonly readOnly: boolean;
  readonly plan: StoredPlan;
  readonly createdAt: Date;
  readonly expiresAt?: Date;
  readonly revokedAt?: Date;
  /** Updated at most once a minute. */
  readonly lastUsedAt?: Date;
}

/** One secret of a key. For a while after a rotation, a key has more than one. */
export interface ApiKeySecret {
  readonly key: ApiKey;
  /** When this secret ends, if it was rotated and ends before its key. */
  readonly secretExpiresAt?: Date;
}

/** A label only: the service treats both alike. Demo keys exist in the embedded database alone. */
export type KeyEnvironment = 'live' | 'demo';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 8;
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const FORMAT = new RegExp(
  `^pso_(?:live|demo)_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`,
);

/** Returns unpredictable bytes: `randomBytes` of `node:crypto` in production. */
export type RandomBytes = (count: number) => Uint8Array;

/** Draws characters without bias: it discards bytes beyond the last whole multiple of 62. */
function randomBase62(length: number, randomBytes: RandomBytes): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

export const generateApiKeyId = (randomBytes: RandomBytes): ApiKeyId =>
  randomBase62(ID_LENGTH, randomBytes) as ApiKeyId; // of the right form

/** Makes the text of a key: `pso_<live|demo>_<id>_<32 base62 characters><6-character checksum>`. The text is shown once. */
export function generateApiKeyText(environment: KeyEnvironment, id: ApiKeyId, randomBytes: RandomBytes): string {
  const body = `pso_${environment}_${id}_${randomBase62(SECRET_LENGTH, randomBytes)}`;
  return body + checksum(body);
}

/** Whether a text has the form and the checksum of a key. A mistyped key is refused without a look-up. */
export function isApiKeyText(text: string): boolean {
  if (!FORMAT.test(text)) return false;
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** The SHA-256 under which a secret is stored; its text is never stored. */
export const hashApiKeyText = (text: string): Uint8Array => hash('sha256', text, 'buffer');

/** When a secret ends, in milliseconds since 1970, because the secret or its key expires or was revoked. */
export function validUntilMs({ key, secretExpiresAt }: ApiKeySecret): number {
  if (key.revokedAt !== undefined) return Number.NEGATIVE_INFINITY;
  const ends = [key.expiresAt, secretExpiresAt].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY);
  return Math.min(...ends);
}

/** Whether a secret is accepted at a moment: neither the secret nor its key was revoked or has expired. */
export const isValidAt = (secret: ApiKeySecret, now: Date): boolean => now.getTime() < validUntilMs(secret);
