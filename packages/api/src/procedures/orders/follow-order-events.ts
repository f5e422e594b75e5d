import { type OrderEvent, type OrderEventType, type OrderId, parseOrderEventId } from '@petstore/domain';
import { type TRPCSubscriptionProcedure, type TrackedEnvelope, tracked } from '@trpc/server';
import type { ProcedureContract } from '../../procedure-contract.ts';
import type { TrpcErrorShape } from '../../trpc/format-error.ts';
import { procedure } from '../../trpc/trpc.ts';
import { eventPosition, inputObject } from '../schemas.ts';

export const followOrderEventsContract = {
  type: 'subscription',
  access: 'internal',
  input: inputObject({
    /** The event after which to begin. @default the next event that is committed */
    after: eventPosition.optional(),
    /** The same, as sent by a subscription that reconnects; it takes precedence over `after`. */
    lastEventId: eventPosition.optional(),
  }).optional(),
} satisfies ProcedureContract;

/** A change of an order, as callers see it: who acted is not told. */
export interface FollowedOrderEvent {
  /** Decimal digits. A later event has a larger number. */
  readonly id: string;
  readonly type: OrderEventType;
  readonly orderId: OrderId;
  readonly at: Date;
  /** The order after the change. */
  readonly order: OrderEvent['order'];
}

/** Follows the changes of orders. Once the subscription has begun, it misses no change. */
// The type is written out, because the inferred one would name an internal module of tRPC in the client's declarations.
export const followOrderEvents: TRPCSubscriptionProcedure<{
  input: { after?: string | undefined; lastEventId?: string | undefined } | undefined;
  output: AsyncIterable<{ readonly id: string; readonly data: FollowedOrderEvent }, void>;
  meta: ProcedureContract;
  errorShape: TrpcErrorShape;
}> = procedure
  .meta(followOrderEventsContract)
  .input(followOrderEventsContract.input)
  .subscription(async ({ ctx: { services, subscription }, input, signal = new AbortController().signal }) => {
    const after = parseOrderEventId(input?.lastEventId ?? input?.after ?? '') ?? 'now';
    // tRPC's own signal is aborted when the client leaves the response, so it does nothing before there is a response.
    const events = await services.events.followEvents(after, subscription?.signal ?? signal);
    subscription?.onBegin(events.position.toString());
    return track(events);
  });

async function* track(
  batches: AsyncIterable<readonly OrderEvent[]>,
): AsyncGenerator<TrackedEnvelope<FollowedOrderEvent>, void> {
  for await (const batch of batches) {
    for (const event of batch) yield tracked(event.id.toString(), followedEvent(event));
  }
}

export const followedEvent = ({ id, type, at, order }: OrderEvent): FollowedOrderEvent => ({
  id: id.toString(),
  type,
  orderId: order.id,
  at,
  order,
});
