import { type CommandReason, decideOrder, type Order, type OrderCommand, orderId, petId } from '@petstore/domain';
import {
  type OrderHistory,
  type OrderOperation,
  type OrderOutcome,
  type Sighting,
  sightingOf,
} from './order-history.ts';
import { SeededRandom } from './seeded-random.ts';

/** What a simulated service runs in: a time of its own, which passes only from one event to the next. */
class SimulatedWorld {
  readonly random: SeededRandom;
  nowMs = 0;
  readonly #events: { readonly atMs: number; readonly run: () => void }[] = [];

  constructor(seed: number, stream: string) {
    this.random = new SeededRandom(seed, stream);
  }

  later(afterMs: number, run: () => void): void {
    const atMs = this.nowMs + afterMs;
    const index = this.#events.findIndex((event) => event.atMs > atMs);
    this.#events.splice(index === -1 ? this.#events.length : index, 0, { atMs, run });
  }

  run(): void {
    for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
      this.nowMs = event.atMs;
      event.run();
    }
  }
}

export interface Batch {
  readonly orders: readonly Order[];
  /** `undefined`: it was the last one. */
  readonly nextAfterId: bigint | undefined;
}

const BATCH = 4;
const FIRST_TIME = Date.UTC(2026, 0, 1);

/** An orders service in memory, of which each method is one step. It is right; what is planted into it overrides a method. */
export class SimulatedOrders {
  protected readonly world: SimulatedWorld;
  protected readonly orders = new Map<bigint, Order>();
  protected nextId = 1n;

  constructor(world: SimulatedWorld) {
    this.world = world;
  }

  protected get now(): Date {
    return new Date(FIRST_TIME + Math.floor(this.world.nowMs));
  }

  /** Whether what goes wrong only sometimes goes wrong now. */
  protected strikes(): boolean {
    return this.world.random.next() < 0.2;
  }

  place(pet: bigint, quantity: number): Order {
    const facts = { id: orderId(this.nextId++), petId: petId(pet), quantity, placedAt: this.now };
    const order: Order = { ...facts, status: 'pending', complete: false };
    this.orders.set(order.id, order);
    return order;
  }

  command(id: bigint, command: OrderCommand): Order | CommandReason {
    const decision = decideOrder(this.orders.get(id), command, this.now);
    if (!decision.ok) return decision.reason;
    this.orders.set(id, decision.value);
    return decision.value;
  }

  get(id: bigint): Order | undefined {
    return this.orders.get(id);
  }

  batch(afterId: bigint): Batch {
    const behind = this.sorted().filter(({ id }) => id > afterId);
    const orders = behind.slice(0, BATCH);
    return { orders, nextAfterId: behind.length > BATCH ? orders.at(-1)?.id : undefined };
  }

  protected sorted(): Order[] {
    return [...this.orders.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}

export type SimulatedService = new (world: SimulatedWorld) => SimulatedOrders;

const CLIENTS = 5;
const CALLS_OF_CLIENT = 40;

/** Lets a few clients use a simulated service; some responses are lost. The same seed makes the same choices. */
export function simulate(Service: SimulatedService, seed: number): OrderHistory {
  const world = new SimulatedWorld(seed, 'service');
  const service = new Service(world);
  const operations: OrderOperation[] = [];
  let petCount = 0n;
  for (let client = 1; client <= CLIENTS; client++) {
    const random = new SeededRandom(seed, `client ${client}`);
    const call = (left: number): void => {
      if (left === 0) return;
      const made = chooseCall(random, () => petCount++);
      const calledAtMs = world.nowMs;
      const respond = (outcome: OrderOutcome): void => {
        const isLost = random.next() < 0.05;
        world.later(random.between(0, 5), () => {
          const response = isLost ? undefined : { atMs: world.nowMs, outcome };
          operations.push({ caller: `client ${client}`, call: made, calledAtMs, response });
          world.later(random.between(0, 10), () => call(left - 1));
        });
      };
      world.later(random.between(0, 5), () => takeEffect(service, made, { world, random, respond }));
    };
    world.later(random.between(0, 10), () => call(CALLS_OF_CLIENT));
  }
  world.run();
  return { originMs: FIRST_TIME, initial: [], operations };
}

type Call = OrderOperation['call'];

function chooseCall(random: SeededRandom, newPet: () => bigint): Call {
  const type = random.weighted({
    place: { weight: 12 },
    ship: { weight: 14 },
    complete: { weight: 10 },
    cancel: { weight: 14 },
    get: { weight: 24 },
    list: { weight: 8 },
  });
  if (type === 'place') return { type, petId: newPet(), quantity: 1 + Math.floor(random.next() * 1_000) };
  if (type === 'list') return { type };
  return { type, orderId: 1n + BigInt(Math.floor(random.next() * 12)) };
}

interface Step {
  readonly world: SimulatedWorld;
  readonly random: SeededRandom;
  readonly respond: (outcome: OrderOutcome) => void;
}

function takeEffect(service: SimulatedOrders, call: Call, step: Step): void {
  if (call.type === 'list') readBatches(service, step, []);
  else step.respond(outcomeOf(service, call));
}

function outcomeOf(service: SimulatedOrders, call: Exclude<Call, { type: 'list' }>): OrderOutcome {
  const done = (order: Order): OrderOutcome => ({ type: 'done', order: sightingOf(order) });
  switch (call.type) {
    case 'place':
      return done(service.place(call.petId, call.quantity));
    case 'get': {
      const order = service.get(call.orderId);
      return order === undefined ? { type: 'refused', reason: 'order_not_found' } : done(order);
    }
    default: {
      const result = service.command(call.orderId, call.type);
      if (typeof result === 'string') return { type: 'refused', reason: result };
      return call.type === 'cancel' ? { type: 'done', order: undefined } : done(result);
    }
  }
}

function readBatches(service: SimulatedOrders, step: Step, seen: readonly Sighting[], afterId = 0n): void {
  const { orders, nextAfterId } = service.batch(afterId);
  const all = [...seen, ...orders.map(sightingOf)];
  if (nextAfterId === undefined) step.respond({ type: 'listed', orders: all, isWhole: true });
  else step.world.later(step.random.between(0, 3), () => readBatches(service, step, all, nextAfterId));
}
