import type { ErrorCode } from '@petstore/api';
import type { RateLimitRefusal } from '@petstore/rate-limit';

/** The error code of each refusal by the limits. */
export const REFUSAL_CODES = {
  refused: 'rate_limit_exceeded',
  banned: 'api_key_banned',
} as const satisfies Record<RateLimitRefusal['outcome'], ErrorCode>;
