import { parseInt64 } from '@petstore/domain';
import { ApiError } from '../api-error.ts';

/** What a caller is told whose path parameter is no 64-bit integer. */
export const int64Complaint = (parameter: string): string =>
  `${parameter}: must be a 64-bit integer in plain decimal digits, such as 42, without sign "+", leading zeros or blanks.`;

/**
 * Reads a path parameter. Here, not by coercion in the schema: that would loosen what tRPC accepts, and take `0x1` for 1.
 *
 * @throws ApiError `invalid_request`
 */
export function readInt64(parameter: string, text = ''): bigint {
  const value = parseInt64(text);
  if (value === undefined) throw new ApiError('invalid_request', int64Complaint(parameter));
  return value;
}
