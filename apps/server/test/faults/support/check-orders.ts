import { decideOrder, type Order, type OrderCommand, orderId, petId } from '@petstore/domain';
import { findFalseFacts } from './check-facts.ts';
import { type OrderHistory, type OrderOperation, type OrderState, sightingsIn, stateOf } from './order-history.ts';

/** What the checker says of a history. */
export interface Verdict {
  /** How many orders it holds. */
  readonly orderCount: number;
  /** What cannot be explained, each for people to read. */
  readonly findings: readonly string[];
}

/** An order as PostgreSQL holds it after all calls. */
export type LastState = Pick<Order, 'status' | 'complete'> & { readonly id: bigint; readonly petId: bigint };

/**
 * Whether some order of single steps explains what all clients saw (linearizability). Orders do not depend on each other,
 * so each is looked at on its own. An order never comes back to a state that it has left, so its last state tells all the
 * states it went through, and only the moments of its steps are unknown. Each response narrows them down: a step that a
 * call made lies between the call and its response; a state that a response shows began before that response, and ended
 * after the call. There is a contradiction if a step must be later than it can be.
 *
 * A list reads each order at some moment between its call and its end: batches are no snapshot. An order that a whole list
 * does not hold was absent at some such moment, so that none is missing that was placed before the list began.
 */
export function checkOrders(history: OrderHistory, lastStates: readonly LastState[]): Verdict {
  const { initial, operations } = history;
  const existedBefore = new Set(initial.map((order) => order.orderId));
  const lives = new Map<bigint, OrderLife>();
  const idOfPet = new Map<bigint, bigint>();
  for (const order of lastStates) {
    const states = STATES_UNTIL[stateOf(order)];
    lives.set(order.id, new OrderLife(order.id, existedBefore.has(order.id) ? states.slice(1) : states));
    idOfPet.set(order.petId, order.id);
  }
  const lifeOf = (id: bigint) => {
    const life = lives.get(id) ?? new OrderLife(id, [existedBefore.has(id) ? 'pending' : 'absent']);
    lives.set(id, life);
    return life;
  };
  for (const { orderId: id } of [...initial, ...operations.flatMap(sightingsIn)]) lifeOf(id);
  for (const operation of operations) {
    const { call } = operation;
    if (call.type === 'list') {
      addList(operation, lives);
      continue;
    }
    const [shown] = sightingsIn(operation);
    const id = call.type === 'place' ? (shown?.orderId ?? idOfPet.get(call.petId)) : call.orderId;
    // An order that was placed by a call whose response was lost may not exist.
    if (id !== undefined) addCall(operation, lifeOf(id));
  }
  const contradictions = [...lives.values()].flatMap((life) => life.findContradictions());
  return { orderCount: lives.size, findings: [...findFalseFacts(history), ...contradictions] };
}

const STATES_UNTIL: Readonly<Record<OrderState, readonly OrderState[]>> = {
  absent: ['absent'],
  pending: ['absent', 'pending'],
  shipped: ['absent', 'pending', 'shipped'],
  complete: ['absent', 'pending', 'shipped', 'complete'],
  cancelled: ['absent', 'pending', 'cancelled'],
};

const STATE_AFTER = { place: 'pending', ship: 'shipped', complete: 'complete', cancel: 'cancelled' } as const;

function addList(operation: OrderOperation, lives: ReadonlyMap<bigint, OrderLife>): void {
  if (operation.response?.outcome.type !== 'listed') return;
  const { orders, isWhole } = operation.response.outcome;
  const listed = new Map(orders.map((order) => [order.orderId, order.states]));
  for (const [id, life] of lives) {
    const states = listed.get(id) ?? (isWhole ? (['absent'] as const) : undefined);
    if (states !== undefined) life.addSeen(operation, states);
  }
}

function addCall(operation: OrderOperation, life: OrderLife): void {
  const { call, response } = operation;
  if (call.type === 'list') return;
  const outcome = response?.outcome;
  if (call.type === 'get') {
    if (outcome !== undefined) life.addSeen(operation, sightingsIn(operation)[0]?.states ?? ['absent']);
  } else if (outcome?.type === 'refused') {
    const { type } = call;
    life.addSeen(operation, type === 'place' ? [] : statesThatRefuse(type, outcome.reason));
  } else {
    life.addStep(operation, STATE_AFTER[call.type]);
  }
}

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

/** By the rules of the domain. */
function statesThatRefuse(command: OrderCommand, reason: string): readonly OrderState[] {
  return Object.entries(EXAMPLES).flatMap(([state, order]) => {
    const decision = decideOrder(order, command, AT);
    return !decision.ok && decision.reason === reason ? [state as OrderState] : []; // it is one of their names
  });
}

/** When an order came to one of its states. */
interface Step {
  readonly state: OrderState;
  notBefore: Bound | undefined;
  notAfter: Bound | undefined;
  /** Whether a call said that it made the step. */
  isClaimed: boolean;
  /** The first call that may have made the step, and whose response was lost. */
  firstLost: OrderOperation | undefined;
}

interface Bound {
  readonly atMs: number;
  readonly operation: OrderOperation;
}

/** The states that an order went through, and what the responses say of the moments between them. */
class OrderLife {
  readonly #id: bigint;
  readonly #steps: readonly Step[];
  readonly #findings: string[] = [];

  constructor(id: bigint, states: readonly OrderState[]) {
    this.#id = id;
    this.#steps = states.map((state) => ({
      state,
      notBefore: undefined,
      notAfter: undefined,
      isClaimed: false,
      firstLost: undefined,
    }));
  }

  /** The response shows that the order was in one of these states between call and response. */
  addSeen(operation: OrderOperation, states: readonly OrderState[]): void {
    const first = this.#steps.findIndex(({ state }) => states.includes(state));
    const last = this.#steps.findLastIndex(({ state }) => states.includes(state));
    if (first === -1) this.#addFinding(`${describe(operation)}, and it never was`);
    else this.#narrow(operation, { begun: this.#steps[first], ended: this.#steps[last + 1] });
  }

  /** The call made this step, or may have made it if its response was lost. */
  addStep(operation: OrderOperation, state: OrderState): void {
    const step = this.#steps.slice(1).find((each) => each.state === state);
    const [shown] = sightingsIn(operation);
    if (operation.response === undefined) {
      if (step !== undefined && operation.calledAtMs < (step.firstLost?.calledAtMs ?? Number.POSITIVE_INFINITY)) {
        step.firstLost = operation;
      }
    } else if (step === undefined) this.#addFinding(`${describe(operation)}, and this is lost`);
    else if (step.isClaimed) this.#addFinding(`${describe(operation)}, and so was another call`);
    else if (shown?.states.includes(state) === false) this.#addFinding(`${describe(operation)}, in place of ${state}`);
    else {
      step.isClaimed = true;
      this.#narrow(operation, { begun: step, ended: step });
    }
  }

  findContradictions(): readonly string[] {
    let latest: Bound | undefined;
    for (const step of this.#steps) {
      const { state, isClaimed, firstLost } = step;
      if (step !== this.#steps[0] && !isClaimed) {
        if (firstLost === undefined) this.#addFinding(`no call can have made it ${state}`);
        else step.notBefore = later(step.notBefore, { atMs: firstLost.calledAtMs, operation: firstLost });
      }
      latest = later(latest, step.notBefore);
      if (latest !== undefined && step.notAfter !== undefined && latest.atMs > step.notAfter.atMs) {
        const [after, before] = [describe(latest.operation), describe(step.notAfter.operation)];
        this.#addFinding(`it became ${state} not before ${after}, and not after ${before}`);
      }
    }
    return this.#findings;
  }

  #narrow(
    operation: OrderOperation,
    { begun, ended }: { readonly begun: Step | undefined; readonly ended: Step | undefined },
  ): void {
    const respondedAtMs = operation.response?.atMs ?? Number.POSITIVE_INFINITY;
    if (begun !== undefined && respondedAtMs < (begun.notAfter?.atMs ?? Number.POSITIVE_INFINITY)) {
      begun.notAfter = { atMs: respondedAtMs, operation };
    }
    if (ended !== undefined) ended.notBefore = later(ended.notBefore, { atMs: operation.calledAtMs, operation });
  }

  #addFinding(text: string): void {
    this.#findings.push(`Order ${this.#id} (${this.#steps.map(({ state }) => state).join(', ')}): ${text}`);
  }
}

const later = (one: Bound | undefined, other: Bound | undefined): Bound | undefined =>
  one === undefined || (other !== undefined && other.atMs > one.atMs) ? other : one;

/** Such as "client 1 ship (10.0 to 14.0 ms) shipped". */
function describe(operation: OrderOperation): string {
  const { caller, call, calledAtMs, response } = operation;
  const made = `${caller} ${call.type} (${calledAtMs.toFixed(1)} to ${response?.atMs.toFixed(1) ?? '?'} ms)`;
  if (response === undefined) return `${made} response lost`;
  const { outcome } = response;
  if (outcome.type === 'refused') return `${made} ${outcome.reason}`;
  return `${made} ${outcome.type === 'done' ? (outcome.order?.states.join(' or ') ?? 'done') : 'listed'}`;
}
