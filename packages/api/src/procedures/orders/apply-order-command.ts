import {
  actor,
  type ChangeOrigin,
  decideOrder,
  isKnownOrder,
  type Order,
  type OrderCommand,
  orderId,
  StorageUnavailableError,
} from '@petstore/domain';
import type { Context } from '../../context.ts';
import { refusalOfReason } from '../../errors/refusals.ts';

/** The author of a change of an order, and its request. */
export const originOf = ({ principal, requestId }: Pick<Context, 'principal' | 'requestId'>): ChangeOrigin => ({
  actor: principal.type === 'api-key' ? actor('key', principal.keyId) : actor('operator', principal.name),
  requestId,
});

/**
 * Cancels, ships or completes an order.
 *
 * @returns the changed order
 * @throws ApiError with the reason, if the command does not apply
 * @throws StorageUnavailableError for an order in a state that only a newer release knows: its servers apply the command
 */
export async function applyOrderCommand(
  ctx: Pick<Context, 'services' | 'principal' | 'requestId'>,
  { orderId: id }: { readonly orderId: bigint },
  command: OrderCommand,
): Promise<Order> {
  const { orders, clock, announceEvents } = ctx.services;
  const now = clock();
  const transition = await orders.applyCommand(orderId(id), command, now, originOf(ctx));
  if (transition.applied) {
    announceEvents();
    return transition.order;
  }
  const { order } = transition;
  if (order !== undefined && !isKnownOrder(order)) {
    throw new StorageUnavailableError(`only a newer release knows the status ${order.status}`);
  }
  const decision = decideOrder(order, command, now);
  if (!decision.ok) throw refusalOfReason(decision.reason);
  throw new Error(`The store did not ${command} an order that the rules allow to ${command}.`);
}
