import { actorOf, type ChangeOrigin, type IdempotencyKey } from '@petstore/domain';
import type { Context } from '../../context.ts';

/** A call that may be made twice and is carried out once. */
export interface KeyedCall {
  readonly idempotencyKey?: IdempotencyKey | undefined;
}

/** Who changes an order, and by which request. */
export const originOf = (
  { principal, requestId }: Pick<Context, 'principal' | 'requestId'>,
  { idempotencyKey }: KeyedCall,
): ChangeOrigin => ({
  actor: actorOf(principal),
  requestId,
  idempotencyKey,
});
