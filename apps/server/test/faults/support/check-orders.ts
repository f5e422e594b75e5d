import { findFalseFacts } from './check-facts.ts';
import { drawHistory } from './histories/draw-history.ts';
import { findContradiction } from './histories/find-contradiction.ts';
import type { Operation } from './histories/history.ts';
import {
  type OrderCall,
  type OrderHistory,
  type OrderOperation,
  type OrderOutcome,
  type Sighting,
  sightingsIn,
} from './order-history.ts';
import { ORDER_MODEL, type OrderState, type OrderStep, type StepOutcome } from './order-model.ts';

/** What the checker says of a history. */
export interface Verdict {
  /** How many orders it holds. */
  readonly orderCount: number;
  /** What cannot be explained, each for people to read. */
  readonly findings: readonly string[];
}

/**
 * Whether some order of single steps explains what all clients saw. Orders do not depend on each other, so each is looked
 * at on its own. A list reads each order at some moment between its call and its end: batches are no snapshot. An order
 * that a whole list does not hold was absent at some such moment, so that none is missing that was placed before it began.
 */
export function checkOrders(history: OrderHistory): Verdict {
  const steps = stepsByOrder(history);
  const initial = new Map(history.initial.map((order) => [order.orderId, order]));
  const contradictions = [...steps].map(([id, operations]) => contradictionOf(id, operations, initial.get(id)));
  const findings = [...findFalseFacts(history), ...contradictions.filter((each) => each !== undefined)];
  return { orderCount: steps.size, findings };
}

/** A call as a step of one order. */
interface StepOperation extends Operation<OrderStep, StepOutcome> {
  readonly source: OrderOperation;
}

function contradictionOf(
  id: bigint,
  operations: readonly StepOperation[],
  before: Sighting | undefined,
): string | undefined {
  const initial: OrderState = before?.states[0] ?? 'absent';
  const found = findContradiction({ model: ORDER_MODEL, initial, operations });
  if (found === undefined) return undefined;
  const drawing = drawHistory(found.operations, (operation) => ({
    call: describeCall(operation as StepOperation),
    outcome: describeOutcome(operation) + (operation === found.unexplained ? '  <- cannot be explained' : ''),
  }));
  return `Order ${id}, ${initial} at first, can only have been ${found.states.join(' or ')} before the marked response:\n${drawing}`;
}

/** The checker returns the operations that it was given. */
const describeCall = ({ call, source }: StepOperation): string =>
  `${source.caller} ${source.call.type === 'list' ? 'list' : call.type === 'read' ? 'get' : call.type}`;

function describeOutcome({ response }: Operation<OrderStep, StepOutcome>): string {
  if (response === undefined) return 'response lost';
  const { outcome } = response;
  return outcome.type === 'refused' ? outcome.reason : outcome.states.join(' or ');
}

function stepsByOrder({ initial, operations }: OrderHistory): Map<bigint, StepOperation[]> {
  const idOfPet = new Map<bigint, bigint>();
  for (const { orderId, petId } of [...initial, ...operations.flatMap(sightingsIn)]) {
    if (!idOfPet.has(petId)) idOfPet.set(petId, orderId);
  }
  const steps = new Map<bigint, StepOperation[]>(initial.map(({ orderId }) => [orderId, []]));
  const add = (id: bigint, operation: OrderOperation, type: OrderStep['type'], outcome: StepOutcome | undefined) => {
    const list = steps.get(id) ?? [];
    steps.set(id, list);
    const { calledAtMs, response } = operation;
    const seen = response && outcome && { atMs: response.atMs, outcome };
    list.push({ call: { type }, calledAtMs, response: seen, source: operation });
  };
  for (const operation of operations) {
    const { call, response } = operation;
    if (call.type === 'list') continue;
    // An order that no client has seen may or may not exist.
    const id = call.type === 'place' ? idOfPet.get(call.petId) : call.orderId;
    if (id !== undefined)
      add(id, operation, call.type === 'get' ? 'read' : call.type, outcomeOf(call, response?.outcome));
  }
  for (const id of idOfPet.values()) if (!steps.has(id)) steps.set(id, []);
  for (const operation of operations) {
    if (operation.response?.outcome.type !== 'listed') continue;
    const { orders, isWhole } = operation.response.outcome;
    const listed = new Map(orders.map((order) => [order.orderId, order]));
    for (const id of steps.keys()) {
      const states = listed.get(id)?.states ?? (isWhole ? (['absent'] as const) : undefined);
      if (states !== undefined) add(id, operation, 'read', { type: 'done', states });
    }
  }
  return steps;
}

/** The states that a command which was done may have led to, where its response does not show the order. */
const WITHOUT_ORDER = { cancel: ['cancelled'], ship: ['shipped'], complete: ['complete'] } as const;

function outcomeOf(call: OrderCall, outcome: OrderOutcome | undefined): StepOutcome | undefined {
  if (outcome === undefined || outcome.type === 'listed') return undefined;
  if (outcome.type === 'refused') {
    // A refused look-up is an observation, too: the order does not exist.
    return call.type === 'get' ? { type: 'done', states: ['absent'] } : outcome;
  }
  if (outcome.order !== undefined) return { type: 'done', states: outcome.order.states };
  return { type: 'done', states: call.type in WITHOUT_ORDER ? WITHOUT_ORDER[call.type as 'cancel'] : [] };
}
