import { decideOrder, type Order, type OrderCommand, orderId, petId } from '@petstore/domain';
import {
  type OrderHistory,
  type OrderOperation,
  type OrderState,
  type Sighting,
  sightingsIn,
  stateOf,
  TIME_FIELDS,
  type TimeField,
} from './order-history.ts';

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

/** What each response must hold by itself, or beside another, whatever the order of steps was. */
function findFalseFacts(history: OrderHistory): readonly string[] {
  const { initial, operations } = history;
  const placed = new Map<bigint, OrderOperation>();
  for (const operation of operations) if (operation.call.type === 'place') placed.set(operation.call.petId, operation);
  const facts = new KnownFacts(initial, placed);
  const times = new KnownTimes(history);
  const findings = new Set<string>();
  for (const operation of operations) {
    for (const sighting of sightingsIn(operation)) {
      const wrong =
        facts.check(sighting) ?? wrongOrder(operation, sighting) ?? times.check(sighting) ?? reversedTimes(sighting);
      if (wrong !== undefined) findings.add(`${operation.caller} ${operation.call.type}: ${wrong}`);
    }
    const wrong = wrongList(operation);
    if (wrong !== undefined) findings.add(`${operation.caller} list: ${wrong}`);
  }
  return [...findings];
}

/** What never changes of an order. */
class KnownFacts {
  readonly #byId: Map<bigint, Sighting>;
  readonly #idOfPet: Map<bigint, bigint>;
  readonly #initialIds: ReadonlySet<bigint>;
  readonly #placed: ReadonlyMap<bigint, OrderOperation>;

  constructor(initial: readonly Sighting[], placed: ReadonlyMap<bigint, OrderOperation>) {
    this.#byId = new Map(initial.map((order) => [order.orderId, order]));
    this.#initialIds = new Set(this.#byId.keys());
    this.#idOfPet = new Map();
    this.#placed = placed;
  }

  /** @returns what contradicts the calls, or what was seen before */
  check(sighting: Sighting): string | undefined {
    const { orderId, petId, quantity } = sighting;
    if (!this.#initialIds.has(orderId)) {
      const call = this.#placed.get(petId)?.call;
      if (call?.type !== 'place') return `order ${orderId} is for pet ${petId}, for which none was placed`;
      const first = this.#idOfPet.get(petId) ?? orderId;
      if (first !== orderId) return `orders ${first} and ${orderId} are of one call of place`;
      this.#idOfPet.set(petId, orderId);
      if (call.quantity !== quantity) return `order ${orderId} has the quantity ${quantity}, not ${call.quantity}`;
    }
    const known = this.#byId.get(orderId);
    if (known !== undefined && known.petId !== petId)
      return `order ${orderId} is for the pets ${known.petId} and ${petId}`;
    if (known !== undefined && known.quantity !== quantity) return `order ${orderId} has two quantities`;
    if (known === undefined) this.#byId.set(orderId, sighting);
    return undefined;
  }
}

/** How far the clock of the service may have been set while a history was recorded. */
const CLOCK_TOLERANCE_MS = 100;

/** When each order went through its states. */
class KnownTimes {
  readonly #originMs: number;
  /** By the order, or the pet of a placed one, and the field of the time. */
  readonly #calls = new Map<string, OrderOperation[]>();
  readonly #known = new Map<string, number>();

  constructor({ originMs, initial, operations }: OrderHistory) {
    this.#originMs = originMs;
    for (const sighting of initial) {
      for (const field of TIME_FIELDS) this.#remember(sighting.orderId, field, sighting.times?.[field]);
    }
    for (const operation of operations) {
      const { call, response } = operation;
      if (!(call.type in FIELD_OF_CALL) || response?.outcome.type === 'refused') continue;
      const field = FIELD_OF_CALL[call.type as keyof typeof FIELD_OF_CALL]; // it is one of them
      const key = `${call.type === 'place' ? call.petId : 'orderId' in call && call.orderId} ${field}`;
      this.#calls.set(key, [...(this.#calls.get(key) ?? []), operation]);
    }
  }

  #remember(orderId: bigint, field: TimeField, time: number | undefined): void {
    if (time !== undefined) this.#known.set(`${orderId} ${field}`, time);
  }

  /** @returns a time that has changed, or at which no call could have changed the order */
  check({ orderId, petId, times }: Sighting): string | undefined {
    for (const field of TIME_FIELDS) {
      const time = times?.[field];
      const known = this.#known.get(`${orderId} ${field}`);
      if (time === undefined || time === known) continue;
      if (known !== undefined) return `order ${orderId}: ${field} was ${text(known)} and is ${text(time)}`;
      this.#remember(orderId, field, time);
      const calls = this.#calls.get(`${field === 'placedAt' ? petId : orderId} ${field}`) ?? [];
      if (!calls.some((call) => this.#mayBeAt(call, time))) {
        return `order ${orderId}: no call was under way at its ${field}, ${text(time)}`;
      }
    }
    return undefined;
  }

  #mayBeAt({ calledAtMs, response }: OrderOperation, time: number): boolean {
    const atMs = time - this.#originMs;
    const endMs = response?.atMs ?? Number.POSITIVE_INFINITY;
    return atMs >= calledAtMs - CLOCK_TOLERANCE_MS && atMs <= endMs + CLOCK_TOLERANCE_MS;
  }
}

const FIELD_OF_CALL = {
  place: 'placedAt',
  ship: 'shippedAt',
  complete: 'completedAt',
  cancel: 'cancelledAt',
} as const;

/** Whatever the clocks of the servers say, an order is placed, shipped and completed in this order. */
function reversedTimes({ orderId, times }: Sighting): string | undefined {
  if (times === undefined) return undefined;
  const { placedAt = 0, shippedAt = placedAt, completedAt = shippedAt, cancelledAt = placedAt } = times;
  if (placedAt <= shippedAt && shippedAt <= completedAt && placedAt <= cancelledAt) return undefined;
  return `order ${orderId}: its times go back, ${JSON.stringify(times)}`;
}

const wrongOrder = ({ call }: OrderOperation, { orderId }: Sighting): string | undefined =>
  'orderId' in call && call.orderId !== orderId ? `order ${orderId} in place of ${call.orderId}` : undefined;

function wrongList({ response }: OrderOperation): string | undefined {
  if (response?.outcome.type !== 'listed') return undefined;
  const { orders } = response.outcome;
  const at = orders.findIndex(({ orderId }, i) => i > 0 && orderId <= (orders[i - 1]?.orderId ?? orderId));
  return at < 1 ? undefined : `order ${orders[at]?.orderId} comes behind order ${orders[at - 1]?.orderId}`;
}

const text = (time: number): string => new Date(time).toISOString();
