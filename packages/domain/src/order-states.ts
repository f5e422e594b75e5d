/** A state that an order can be in. */
interface StateDefinition {
  /** The fields with the times of what happened to the order; it always has a time of placing. */
  readonly times: readonly string[];
  /** Whether orders in this state have been fulfilled. A complete order also has {@link COMPLETION_TIME}. */
  readonly complete: 'no' | 'yes' | 'either';
  /** Why a command does not apply to an order in this state. It is the code of an error. */
  readonly refusal: string;
}

/**
 * Every state of an order, and what an order has in it. `complete` is a fact about a shipped order, not a state.
 *
 * The type of an order, its checks in the database and what may be imported are made from this table.
 */
export const ORDER_STATES = {
  /** It was placed, and may still be shipped or cancelled. */
  pending: { times: [], complete: 'no', refusal: 'order_not_shipped' },
  /** It is on its way or has been fulfilled. */
  shipped: { times: ['shippedAt'], complete: 'either', refusal: 'order_already_shipped' },
  /** It was withdrawn before it was shipped. It stays in lists, because it was placed. */
  cancelled: { times: ['cancelledAt'], complete: 'no', refusal: 'order_already_cancelled' },
} as const satisfies Record<string, StateDefinition>;

export type OrderStatus = keyof typeof ORDER_STATES;

export const ORDER_STATUSES = Object.keys(ORDER_STATES) as readonly OrderStatus[]; // those of the table, which is constant

/** The field with the time at which an order became complete. */
export const COMPLETION_TIME = 'completedAt';

/** Whether an order can have this status and be, or not be, complete. */
export function isOrderState({ status, complete }: OrderState): boolean {
  const { complete: allowed }: StateDefinition = ORDER_STATES[status];
  return allowed === 'either' || allowed === (complete ? 'yes' : 'no');
}

/** @returns the fields of the times that an order in this state has, besides that of placing */
export function timesOfState({ status, complete }: OrderState): readonly OrderStampField[] {
  const { times } = ORDER_STATES[status];
  return complete ? [...times, COMPLETION_TIME] : times;
}

/** The fields with times that transitions set. */
export type OrderStampField = (typeof ORDER_STATES)[OrderStatus]['times'][number] | typeof COMPLETION_TIME;

/** The full state of an order. */
export interface OrderState {
  readonly status: OrderStatus;
  readonly complete: boolean;
}

/** What a command does. */
export interface TransitionRule {
  /** The states to which the command applies. */
  readonly from: readonly OrderState[];
  /** The state after it; whether the order is complete stays as it is if that is left out. */
  readonly to: { readonly status: OrderStatus; readonly complete?: boolean };
  /** The field that records the time of the transition. */
  readonly stamp: OrderStampField;
  /** The name of the transition in the event log. */
  readonly event: string;
}

/** Every change of a placed order. The statement of storage is made from this table, and a test compares the two. */
export const ORDER_TRANSITIONS = {
  ship: {
    from: [{ status: 'pending', complete: false }],
    to: { status: 'shipped' },
    stamp: 'shippedAt',
    event: 'order.shipped',
  },
  complete: {
    from: [{ status: 'shipped', complete: false }],
    to: { status: 'shipped', complete: true },
    stamp: 'completedAt',
    event: 'order.completed',
  },
  cancel: {
    from: [{ status: 'pending', complete: false }],
    to: { status: 'cancelled' },
    stamp: 'cancelledAt',
    event: 'order.cancelled',
  },
} as const satisfies Record<string, TransitionRule>;

/** The changes that can be made to a placed order. */
export type OrderCommand = keyof typeof ORDER_TRANSITIONS;

export const ORDER_COMMANDS = Object.keys(ORDER_TRANSITIONS) as readonly OrderCommand[]; // those of the table
