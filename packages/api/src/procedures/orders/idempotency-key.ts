import { IDEMPOTENCY_KEY_LENGTH_MAX, type IdempotencyKey, parseIdempotencyKey } from '@petstore/domain';
import { z } from 'zod';
import { trpcOnly } from '../input-object.ts';

const complaint = `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters`;

/** Names a call, so that the same call made again returns the same result and is not carried out again. */
export const idempotencyKey = trpcOnly(
  z
    .string(complaint)
    .refine((text) => parseIdempotencyKey(text) !== undefined, complaint)
    .transform((text) => text as IdempotencyKey) // it was checked
    .optional(),
);
