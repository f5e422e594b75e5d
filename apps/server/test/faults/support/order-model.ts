import { type CommandReason, decideOrder, type Order, type OrderCommand, orderId, petId } from '@petstore/domain';
import type { SequentialModel } from './histories/history.ts';

/** What an order may be at a moment. */
export type OrderState = 'absent' | 'pending' | 'shipped' | 'complete' | 'cancelled';

/** A call, as far as it concerns one order. A list reads each order at some moment of its own. */
export type OrderStep = { readonly type: 'place' | OrderCommand | 'read' };

export type StepOutcome =
  /** The response shows an order in one of these states. */
  | { readonly type: 'done'; readonly states: readonly OrderState[] }
  | { readonly type: 'refused'; readonly reason: CommandReason };

const AT = new Date(0);
const FACTS = { id: orderId(1n), petId: petId(1n), quantity: 1, placedAt: AT };

/** An order in each state. */
const EXAMPLES: Readonly<Record<OrderState, Order | undefined>> = {
  absent: undefined,
  pending: { ...FACTS, status: 'pending', complete: false },
  shipped: { ...FACTS, status: 'shipped', complete: false, shippedAt: AT },
  complete: { ...FACTS, status: 'shipped', complete: true, shippedAt: AT, completedAt: AT },
  cancelled: { ...FACTS, status: 'cancelled', complete: false, cancelledAt: AT },
};

export const stateOf = ({ status, complete }: Pick<Order, 'status' | 'complete'>): OrderState =>
  complete ? 'complete' : status;

/** One order, by the rules of the domain. */
export const ORDER_MODEL: SequentialModel<OrderState, OrderStep, StepOutcome> = {
  step(state, { type }, outcome) {
    switch (type) {
      case 'place':
        return state === 'absent' && allows(outcome, 'pending') ? 'pending' : undefined;
      case 'read':
        return allows(outcome, state) ? state : undefined;
      default:
        return afterCommand(state, type, outcome);
    }
  },
  isRead: ({ type }, outcome) => type === 'read' || outcome?.type === 'refused',
};

function afterCommand(state: OrderState, command: OrderCommand, outcome: StepOutcome | undefined) {
  const decision = decideOrder(EXAMPLES[state], command, AT);
  if (decision.ok) {
    const next = stateOf(decision.value);
    return allows(outcome, next) ? next : undefined;
  }
  const isSaid = outcome?.type === 'refused' && outcome.reason === decision.reason;
  return outcome === undefined || isSaid ? state : undefined;
}

const allows = (outcome: StepOutcome | undefined, state: OrderState): boolean =>
  outcome === undefined || (outcome.type === 'done' && outcome.states.includes(state));
