import {
  type OrderHistory,
  type OrderOperation,
  type Sighting,
  sightingsIn,
  TIME_FIELDS,
  type TimeField,
} from './order-history.ts';

/** What each response must hold by itself, or beside another, whatever the order of steps was. */
export function findFalseFacts(history: OrderHistory): readonly string[] {
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
