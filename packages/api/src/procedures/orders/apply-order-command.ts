import {
  actor,
  type ChangeOrigin,
  type CommandReason,
  decideOrder,
  type Order,
  type OrderCommand,
  orderId,
} from '@petstore/domain';
import { ApiError } from '../../api-error.ts';
import type { Context } from '../../context.ts';

/** Every reason of the domain, as callers see it. Made once: these are ordinary results, as frequent as success. */
const ERROR_OF_REASON = {
  order_not_found: new ApiError('order_not_found'),
  order_already_shipped: new ApiError('order_already_shipped'),
  order_already_cancelled: new ApiError('order_already_cancelled'),
  order_not_shipped: new ApiError('order_not_shipped'),
  order_already_completed: new ApiError('order_already_completed'),
} as const satisfies Record<CommandReason, ApiError>;

/** Who changes an order, and by which request. */
export const originOf = ({ principal, requestId }: Pick<Context, 'principal' | 'requestId'>): ChangeOrigin => ({
  actor: principal.type === 'api-key' ? actor('key', principal.keyId) : actor('operator', principal.name),
  requestId,
});

/**
 * Cancels, ships or completes an order.
 *
 * @returns the order as it now is
 * @throws ApiError with the reason, if the order does not allow it
 */
export async function applyOrderCommand(
  ctx: Pick<Context, 'services' | 'principal' | 'requestId'>,
  { orderId: id }: { readonly orderId: bigint },
  command: OrderCommand,
): Promise<Order> {
  const { orders, clock } = ctx.services;
  const now = clock();
  const transition = await orders.applyCommand(orderId(id), command, now, originOf(ctx));
  if (transition.applied) return transition.order;
  const decision = decideOrder(transition.order, command, now);
  if (!decision.ok) throw ERROR_OF_REASON[decision.reason];
  throw new Error(`The store did not ${command} an order that the rules allow to ${command}.`);
}
