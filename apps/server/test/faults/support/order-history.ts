import type { CommandReason, OrderCommand, OrderStatus, StoredOrder } from '@petstore/domain';

/** What an order may be at a moment. */
export type OrderState = 'absent' | 'pending' | 'shipped' | 'complete' | 'cancelled';

export const stateOf = ({ status, complete }: Pick<StoredOrder, 'status' | 'complete'>): OrderState =>
  complete ? 'complete' : (status as OrderStatus); // these servers are of one release

/** A call of a client. Each call of `place` has a pet of its own, by which its order is known whatever its response. */
export type OrderCall =
  | { readonly type: 'place'; readonly petId: bigint; readonly quantity: number }
  | { readonly type: OrderCommand | 'get'; readonly orderId: bigint }
  | { readonly type: 'list' };

export type OrderOutcome =
  | { readonly type: 'done'; readonly order: Sighting | undefined }
  | { readonly type: 'refused'; readonly reason: CommandReason }
  | {
      readonly type: 'listed';
      readonly orders: readonly Sighting[];
      /** Whether the list came to its end. */
      readonly isWhole: boolean;
    };

/** One call of a client, as the client saw it. */
export interface OrderOperation {
  /** Who called, and whom. */
  readonly caller: string;
  readonly call: OrderCall;
  /** By one clock for all clients of a history. */
  readonly calledAtMs: number;
  /** `undefined` if it was lost: the call may take effect at any moment after it was made, or never. */
  readonly response: { readonly atMs: number; readonly outcome: OrderOutcome } | undefined;
}

/** An order as a response shows it. */
export interface Sighting {
  readonly orderId: bigint;
  readonly petId: bigint;
  readonly quantity: number;
  /** More than one where the response does not say which. */
  readonly states: readonly OrderState[];
  /** When it was placed, shipped, completed and cancelled, in milliseconds since 1970; left out where it is not shown. */
  readonly times?: OrderTimes;
}

type OrderTimes = Readonly<Record<TimeField, number | undefined>>;

export type TimeField = (typeof TIME_FIELDS)[number];

export const TIME_FIELDS = ['placedAt', 'shippedAt', 'completedAt', 'cancelledAt'] as const;

export interface OrderHistory {
  /** The time of 0 ms, in milliseconds since 1970, by the clock that the service has, too. */
  readonly originMs: number;
  /** Orders that were there before. */
  readonly initial: readonly Sighting[];
  readonly operations: readonly OrderOperation[];
}

export function sightingOf(order: StoredOrder): Sighting {
  const times = Object.fromEntries(
    TIME_FIELDS.map((field) => [field, field in order ? Number(Reflect.get(order, field)) : undefined]),
  ) as OrderTimes; // of each of its fields
  return { ...factsOf(order), states: [stateOf(order)], times };
}

/** An order as v1 shows it: without its status. */
export const sightingOfV1 = (
  order: Pick<Sighting, 'petId' | 'quantity'> & { id: bigint; complete: boolean },
): Sighting => ({
  ...factsOf(order),
  states: order.complete ? ['complete'] : ['pending', 'shipped', 'cancelled'],
});

const factsOf = ({ id, petId, quantity }: { id: bigint; petId: bigint; quantity: number }) => ({
  orderId: id,
  petId,
  quantity,
});

/** All orders that a response shows. */
export function sightingsIn({ response }: OrderOperation): readonly Sighting[] {
  if (response === undefined || response.outcome.type === 'refused') return [];
  if (response.outcome.type === 'listed') return response.outcome.orders;
  return response.outcome.order === undefined ? [] : [response.outcome.order];
}
