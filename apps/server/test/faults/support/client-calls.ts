import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient, type PetstoreClient, petstoreErrorOf } from '@petstore/client';
import { type CommandReason, ORDER_FIELDS, type OrderCommand } from '@petstore/domain';
import {
  type OrderCall,
  type OrderOperation,
  type OrderOutcome,
  type Sighting,
  sightingOf,
  sightingOfV1,
} from './order-history.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A call as it is made. */
interface CallKind {
  /** How often it is chosen, beside the others. */
  readonly weight: number;
  choose(chooser: CallChooser): OrderCall;
  /** @param another a client of any server, for calls that are repeated */
  send(client: PetstoreClient, call: OrderCall, another: () => PetstoreClient): Promise<OrderOutcome>;
}

interface CallChooser {
  readonly random: SeededRandom;
  /** An order that exists or may exist: most often one that others want, too. */
  order(): bigint;
  /** A pet for which no other client places an order. */
  newPet(): bigint;
}

const done = (order?: Sighting): OrderOutcome => ({ type: 'done', order });
type Procedures = PetstoreClient['orders'];

/** A call that concerns one order. */
const about = (
  weight: number,
  type: OrderCommand | 'get',
  send: (client: PetstoreClient, orderId: bigint) => Promise<OrderOutcome>,
): CallKind => ({
  weight,
  choose: (chooser) => ({ type, orderId: chooser.order() }),
  send: (client, call) => ('orderId' in call ? send(client, call.orderId) : Promise.reject(new TypeError(call.type))),
});

/** An order is placed again for so long, in milliseconds. */
const REPEATED_FOR_MS = 10_000;

/**
 * Repeats a call with one idempotency key at any server until it gets a response, as a program does that has to know what
 * came of it, and must not place two orders. In the history it is one call.
 */
async function once(
  another: () => PetstoreClient,
  send: (orders: Procedures, idempotencyKey: string) => Promise<OrderOutcome>,
): Promise<OrderOutcome> {
  const idempotencyKey = randomUUID();
  const endMs = performance.now() + REPEATED_FOR_MS;
  let lost: unknown;
  for (;;) {
    try {
      return await send(another().orders, idempotencyKey);
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome === 'answered') throw error;
      if (outcome === 'lost') lost = error;
      if (performance.now() > endMs) throw lost ?? error;
      await sleep(100);
    }
  }
}

const changing = (weight: number, type: 'ship' | 'complete'): CallKind =>
  about(weight, type, async ({ orders }: { orders: Procedures }, orderId) =>
    done(sightingOf(await orders[type].mutate({ orderId }))),
  );

const listing = (weight: number, read: (client: PetstoreClient, seen: Sighting[]) => Promise<void>): CallKind => ({
  weight,
  choose: () => ({ type: 'list' }),
  async send(client) {
    const orders: Sighting[] = [];
    try {
      await read(client, orders);
    } catch (error) {
      // What came before a list broke off holds all the same.
      if (orders.length === 0) throw error;
      return { type: 'listed', orders, isWhole: false };
    }
    return { type: 'listed', orders, isWhole: true };
  },
});

const placing = (
  weight: number,
  place: (
    client: PetstoreClient,
    order: { readonly petId: bigint; readonly quantity: number },
    another: () => PetstoreClient,
  ) => Promise<OrderOutcome>,
): CallKind => ({
  weight,
  choose: ({ random, newPet }) => ({
    type: 'place',
    petId: newPet(),
    quantity: 1 + Math.floor(random.next() * ORDER_FIELDS.quantity.max),
  }),
  async send(client, call, another) {
    if (call.type !== 'place') throw new TypeError(call.type);
    const { petId, quantity } = call;
    return place(client, { petId, quantity }, another);
  },
});

/** All calls that clients make. */
export const CALLS = {
  place: placing(6, async ({ orders }, order) => done(sightingOf(await orders.place.mutate(order)))),
  'place once': placing(6, (_, order, another) =>
    once(another, async (orders, idempotencyKey) =>
      done(sightingOf(await orders.place.mutate({ ...order, idempotencyKey }))),
    ),
  ),
  ship: changing(19, 'ship'),
  complete: changing(12, 'complete'),
  cancel: about(13, 'cancel', async ({ orders }, orderId) => {
    await orders.cancel.mutate({ orderId });
    return done();
  }),
  'cancel by REST': about(8, 'cancel', async ({ rest }, orderId) => {
    await rest.cancelOrder({ orderId });
    return done();
  }),
  get: about(24, 'get', async ({ orders }, orderId) => done(sightingOf(await orders.get.query({ orderId })))),
  list: listing(0.7, async ({ orders }, seen) => {
    for await (const batch of await orders.list.query()) seen.push(...batch.map(sightingOf));
  }),
  'list by REST': listing(0.7, async ({ rest }, seen) => {
    // The document requires no field; one that is missing is a false fact.
    for await (const { id = 0n, petId = 0n, quantity = 0, complete = false } of rest.listOrders()) {
      seen.push(sightingOfV1({ id: BigInt(id), petId: BigInt(petId), quantity, complete }));
    }
  }),
} as const satisfies Record<string, CallKind>;

export type CallName = keyof typeof CALLS;

/** What came of a call that was made. */
export type SentCall =
  | { readonly type: 'recorded'; readonly operation: OrderOperation }
  /** The server was not there, or had no capacity: nothing can have happened. */
  | { readonly type: 'not executed' }
  /** An error that no fault explains. */
  | { readonly type: 'wrong'; readonly operation: OrderOperation; readonly error: string };

const REASONS: ReadonlySet<string> = new Set<CommandReason>([
  'order_not_found',
  'order_already_shipped',
  'order_already_cancelled',
  'order_not_shipped',
  'order_already_completed',
]);

/** Errors after which it is not known what became of a call. */
const LOST: ReadonlySet<string> = new Set([
  'service_unavailable',
  'connection_failed',
  'timed_out',
  'unexpected_response', // cut short
]);

/** Each attempt is a call of its own: nothing is tried again below what is recorded. */
export const createRecordedClient = (baseUrl: string, apiKey: string): PetstoreClient =>
  createPetstoreClient({ baseUrl, apiKey, maxRetries: 0, timeoutMs: 15_000 });

interface CallToSend {
  readonly name: CallName;
  readonly call: OrderCall;
  readonly caller: string;
  /** A client of any server. */
  readonly another: () => PetstoreClient;
}

export async function sendCall(client: PetstoreClient, { name, call, caller, another }: CallToSend): Promise<SentCall> {
  const kind: CallKind = CALLS[name];
  const calledAtMs = performance.now();
  const recorded = (outcome: OrderOutcome | undefined): OrderOperation => ({
    caller,
    call,
    calledAtMs,
    response: outcome && { atMs: performance.now(), outcome },
  });
  try {
    return { type: 'recorded', operation: recorded(await kind.send(client, call, another)) };
  } catch (error) {
    const code = petstoreErrorOf(error)?.code;
    if (code !== undefined && REASONS.has(code)) {
      return { type: 'recorded', operation: recorded({ type: 'refused', reason: code as CommandReason }) }; // one of them
    }
    const outcome = outcomeOf(error);
    if (outcome === 'not executed') return { type: outcome };
    if (outcome === 'lost') return { type: 'recorded', operation: recorded(undefined) };
    return { type: 'wrong', operation: recorded(undefined), error: `${caller} ${name}: ${code ?? error}` };
  }
}

function outcomeOf(error: unknown): 'not executed' | 'lost' | 'answered' {
  const code = petstoreErrorOf(error)?.code;
  if (code === 'overloaded' || causes(error).some((cause) => 'code' in cause && cause.code === 'ECONNREFUSED')) {
    return 'not executed';
  }
  return code !== undefined && LOST.has(code) ? 'lost' : 'answered';
}

function causes(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}
