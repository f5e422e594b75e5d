import { isInternal, mayChange, type Principal } from '@petstore/domain';
import { createRefusal, refusalOf } from './errors/refusals.ts';
import type { ProcedureContract } from './procedure-contract.ts';

/** The message for an external key. */
export const INTERNAL_ONLY =
  'This operation is for internal keys only. Ask the operator of the service for one that was created with --internal.';

const NOT_INTERNAL = createRefusal('insufficient_scope', INTERNAL_ONLY);

/**
 * Checks that the caller may call a procedure: a read-only key may call no mutation, and only internal keys may call an
 * internal procedure. The input is not read before, so a refused key learns nothing about an order.
 *
 * @throws ApiError `insufficient_scope`
 */
export function requirePermission(principal: Principal, { type, access }: ProcedureContract): void {
  if (type === 'mutation' && !mayChange(principal)) throw refusalOf('insufficient_scope');
  if (access === 'internal' && !isInternal(principal)) throw NOT_INTERNAL;
}
