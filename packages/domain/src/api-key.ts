import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Brand } from './ids.ts';
import type { Plan } from './plan.ts';

/** The eight characters that name a key where its secret must not stand: in lists, logs and the command line. */
export type ApiKeyId = Brand<string, 'ApiKeyId'>;

/** `external` keys reach the documented operations; `internal` ones also place, ship and complete orders over tRPC. */
export type ApiKeyKind = 'external' | 'internal';

export interface ApiKey {
  readonly id: ApiKeyId;
  readonly name: string;
  readonly kind: ApiKeyKind;
  readonly plan: Plan;
  readonly createdAt: Date;
  readonly expiresAt?: Date;
  readonly revokedAt?: Date;
  /** Written at most once a minute. */
  readonly lastUsedAt?: Date;
}

/** One secret of a key. A rotated key has more than one for a while. */
export interface ApiKeySecret {
  readonly key: ApiKey;
  /** When a rotated secret ends before its key does. */
  readonly secretExpiresAt?: Date;
}

/** Only a label: the service treats keys of both environments alike. */
export type KeyEnvironment = 'live' | 'test';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 8;
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const FORMAT = new RegExp(
  `^pso_(?:live|test)_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`,
);

/** Bytes that must not be predictable; `node:crypto`'s `randomBytes` in production. */
export type RandomBytes = (count: number) => Uint8Array;

/** Draws characters without bias: bytes past the last whole multiple of 62 are thrown away. */
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

/** Makes the text of a key: `pso_<live|test>_<id>_<32 base62 characters><6-character checksum>`. It is shown once. */
export function generateApiKeyText(environment: KeyEnvironment, id: ApiKeyId, randomBytes: RandomBytes): string {
  const body = `pso_${environment}_${id}_${randomBase62(SECRET_LENGTH, randomBytes)}`;
  return body + checksum(body);
}

/** Whether a text has a key's form and checksum, so that a typo needs no look-up. */
export function isApiKeyText(text: string): boolean {
  if (!FORMAT.test(text)) return false;
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** The SHA-256 under which a secret is stored; the text itself is never kept. */
export const hashApiKeyText = (text: string): Uint8Array => hash('sha256', text, 'buffer');

/** Until when a secret is accepted, in milliseconds since 1970: it, or its key, may expire or be revoked. */
export function validUntilMs({ key, secretExpiresAt }: ApiKeySecret): number {
  if (key.revokedAt !== undefined) return Number.NEGATIVE_INFINITY;
  const ends = [key.expiresAt, secretExpiresAt].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY);
  return Math.min(...ends);
}

/** Whether a secret is accepted at a moment: neither revoked nor expired, itself or its key. */
export const isValidAt = (secret: ApiKeySecret, now: Date): boolean => now.getTime() < validUntilMs(secret);

/** The Redis channel on which every change of a key is published, as its id: all processes then look it up again. */
export const API_KEY_CHANGED_CHANNEL = 'petstore:api-key-changed';
