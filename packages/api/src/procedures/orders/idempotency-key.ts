import { IDEMPOTENCY_KEY_LENGTH_MAX, type IdempotencyKey, parseIdempotencyKey } from '@petstore/domain';
import { z } from 'zod';

const complaint = `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters`;

/** Names the placing of an order: repeating the call with it returns the same order and does not place a second one. */
export const idempotencyKey = z
  .string(complaint)
  .refine((text) => parseIdempotencyKey(text) !== undefined, complaint)
  .transform((text) => text as IdempotencyKey) // it was checked
  .optional();
