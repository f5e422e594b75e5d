import { isInternal, mayChange, type Principal } from '@petstore/domain';
import { ApiError } from '../api-error.ts';
import type { ProcedureContract } from '../procedure-contract.ts';

const INTERNAL_ONLY =
  'This procedure is for internal keys only. Ask the operator of the service for one that was created with --internal.';

/**
 * Refuses a read-only key whatever changes something, and other keys than internal ones what is for these only. This is
 * decided before the input is read, so that such a key learns nothing of an order by trying to change it.
 *
 * @throws ApiError `insufficient_scope`
 */
export function requirePermission(principal: Principal, { type, access }: ProcedureContract): void {
  if (type === 'mutation' && !mayChange(principal)) throw new ApiError('insufficient_scope');
  if (access === 'internal' && !isInternal(principal)) throw new ApiError('insufficient_scope', INTERNAL_ONLY);
}
