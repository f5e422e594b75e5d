import type { TRPCError } from '@trpc/server';
import { toErrorResponse } from '../errors/error-response.ts';

/** tRPC sets the type itself, but to text/plain if it refuses a request before it knows the procedure. */
const JSON_HEADERS = { 'content-type': 'application/json' };

/**
 * The router's `responseMeta`: JSON in every case, and the headers of the first error (Retry-After for 503). A streamed
 * response has sent its headers before any error is known.
 */
export function trpcResponseMeta(opts: { readonly errors: readonly TRPCError[]; readonly eagerGeneration: boolean }): {
  headers?: Record<string, string>;
} {
  if (opts.eagerGeneration) return {};
  const [error] = opts.errors;
  return { headers: error === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...toErrorResponse(error).headers } };
}
