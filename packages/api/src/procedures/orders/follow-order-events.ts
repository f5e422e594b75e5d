import { type OrderEvent, type OrderEventType, type OrderId, parseOrderEventId } from '@petstore/domain';
import { tracked } from '@trpc/server';
import { internalProcedure } from '../../trpc/trpc.ts';
import { FollowOrderEventsInput } from './follow-order-events.contract.ts';

/** A change of an order, as subscribers are sent it. */
export interface FollowedOrderEvent {
  /** Decimal digits. A later event has a larger number. */
  readonly id: string;
  readonly type: OrderEventType;
  readonly orderId: OrderId;
  readonly at: Date;
  /** As it was after the change. */
  readonly order: OrderEvent['order'];
}

/** Follows the changes of orders. It begins when nothing that is committed from then on is missed. */
export const followOrderEvents = internalProcedure
  .input(FollowOrderEventsInput)
  .subscription(async ({ ctx, input, signal = new AbortController().signal }) => {
    const after = parseOrderEventId(input?.lastEventId ?? input?.after ?? '') ?? 'now';
    const events = await ctx.services.events.followEvents(after, signal);
    ctx.onEventsBegin?.(events.position.toString());
    return track(events);
  });

async function* track(batches: AsyncIterable<readonly OrderEvent[]>) {
  for await (const batch of batches) {
    for (const event of batch) {
      const followed = followedOf(event);
      yield tracked(followed.id, followed);
    }
  }
}

/** One for all who follow: what is written of it is made once. */
const FOLLOWED = new WeakMap<OrderEvent, FollowedOrderEvent>();

function followedOf(event: OrderEvent): FollowedOrderEvent {
  let followed = FOLLOWED.get(event);
  if (followed === undefined) {
    const { id, type, at, order } = event;
    followed = { id: id.toString(), type, orderId: order.id, at, order };
    FOLLOWED.set(event, followed);
  }
  return followed;
}
