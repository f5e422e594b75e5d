import { isInternal, mayChange, type Principal } from '@petstore/domain';
import { ApiError } from '../api-error.ts';
import type { ProcedureContract } from '../procedure-contract.ts';

/**
 * Refuses a read-only key whatever changes something. This is decided before the input is read, so that such a key learns
 * nothing of an order by trying to change it.
 *
 * @throws ApiError `insufficient_scope`
 */
export function requireChangesAllowed(principal: Principal, type: ProcedureContract['type']): void {
  if (type === 'mutation' && !mayChange(principal)) throw new ApiError('insufficient_scope');
}

/** @throws ApiError `insufficient_scope` */
export function requireInternal(principal: Principal): void {
  if (!isInternal(principal)) throw new ApiError('insufficient_scope', INTERNAL_ONLY);
}

const INTERNAL_ONLY =
  'This procedure is for internal keys only. Ask the operator of the service for one that was created with --internal.';
