import { type OrderHistory, type OrderOperation, type Sighting, sightingsIn, TIME_FIELDS } from './order-history.ts';

/** What each response must hold by itself, or beside another, whatever the order of steps was. */
export function findFalseFacts({ initial, operations }: OrderHistory): readonly string[] {
  const placed = new Map<bigint, OrderOperation>();
  for (const operation of operations) if (operation.call.type === 'place') placed.set(operation.call.petId, operation);
  const facts = new KnownFacts(initial, placed);
  const findings = new Set<string>();
  for (const operation of operations) {
    for (const sighting of sightingsIn(operation)) {
      const wrong = facts.check(sighting) ?? wrongOrder(operation, sighting);
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
    const { orderId, petId, quantity, times } = sighting;
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
    const wrong = times && known?.times && changedTime(known.times, times);
    if (wrong !== undefined) return `order ${orderId}: ${wrong}`;
    if (known === undefined || times !== undefined) this.#byId.set(orderId, withTimes(sighting, known));
    return undefined;
  }
}

type Times = NonNullable<Sighting['times']>;

/** Times once seen stay, even if a response that was sent earlier comes later. */
function withTimes(sighting: Sighting, known: Sighting | undefined): Sighting {
  if (sighting.times === undefined || known?.times === undefined) return sighting;
  const { times } = sighting;
  const merged = TIME_FIELDS.map((field) => [field, times[field] ?? known.times?.[field]]);
  return { ...sighting, times: Object.fromEntries(merged) as Times }; // of each of its fields
}

function changedTime(before: Times, now: Times): string | undefined {
  const field = TIME_FIELDS.find(
    (each) => before[each] !== undefined && now[each] !== undefined && before[each] !== now[each],
  );
  return field && `${field} was ${text(before[field])} and is ${text(now[field])}`;
}

function wrongOrder({ call }: OrderOperation, { orderId, times }: Sighting): string | undefined {
  if ('orderId' in call && call.orderId !== orderId) return `order ${orderId} in place of ${call.orderId}`;
  if (times === undefined) return undefined;
  const known = TIME_FIELDS.map((field) => times[field]).filter((time) => time !== undefined);
  const isAscending = known.every((time, i) => time >= (known[i - 1] ?? time));
  return isAscending ? undefined : `order ${orderId} went through its states at ${known.map(text).join(', ')}`;
}

function wrongList({ response }: OrderOperation): string | undefined {
  if (response?.outcome.type !== 'listed') return undefined;
  const { orders } = response.outcome;
  const at = orders.findIndex(({ orderId }, i) => i > 0 && orderId <= (orders[i - 1]?.orderId ?? orderId));
  return at < 1 ? undefined : `order ${orders[at]?.orderId} comes behind order ${orders[at - 1]?.orderId}`;
}

const text = (time: number | undefined): string => (time === undefined ? 'unknown' : new Date(time).toISOString());
