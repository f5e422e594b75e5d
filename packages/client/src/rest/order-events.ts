import { type CallOptions, checkCallOptions, checkNumber } from '../options.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { components } from './document-v2.ts';

/** A change of an order, and the order after it. Its `id` is the position after it, from which to go on. */
export type OrderEventV2 = components['schemas']['OrderEvent'];

export interface PollEventsOptions extends Omit<CallOptions, 'maxRetries'> {
  /** The `id` of the event after which to begin; `'0'` is the beginning of the kept events. @default from now on */
  readonly after?: string | undefined;
  /**
   * The pause between two requests, in milliseconds, at least 1. There is none while more events are known to be there.
   * @default 180000, which is 480 requests a day
   */
  readonly pollIntervalMs?: number | undefined;
  /** Called once, before the first event, with the position at which it begins: later events are never missed. */
  readonly onBegin?: ((position: string) => void) | undefined;
}

/** The most events in a response: fewer requests are needed for many. */
const LIMIT = 1_000;
const POLL_INTERVAL_MS = 180_000;

interface EventsPage {
  readonly events: readonly OrderEventV2[];
  readonly nextAfter: string;
}

/** What {@link pollOrderEvents} does by the connection of its client. */
interface Polling {
  /** Requests a page until it comes. */
  readonly request: (query: string) => Promise<EventsPage>;
  readonly wait: (delayMs: number) => Promise<void>;
}

/** @throws TypeError if an option is not valid */
export function checkPollOptions({ pollIntervalMs = POLL_INTERVAL_MS, after, onBegin, ...options }: PollEventsOptions) {
  checkCallOptions(options);
  checkNumber('pollIntervalMs', pollIntervalMs, 1);
  if (after !== undefined && typeof after !== 'string')
    throw new TypeError('after must be the id of an event, a string');
}

/** The events after a position, and all later ones. It ends when its reader leaves or the signal aborts. */
export async function* pollOrderEvents(
  { request, wait }: Polling,
  { after, onBegin, pollIntervalMs = POLL_INTERVAL_MS, signal }: PollEventsOptions,
): AsyncGenerator<OrderEventV2, void, undefined> {
  let page = await request(queryOf(after));
  onBegin?.(after ?? page.nextAfter);
  for (;;) {
    for (const event of page.events) {
      yield event;
      signal?.throwIfAborted(); // events that have arrived are then dropped
    }
    if (page.events.length < LIMIT) await wait(pollIntervalMs);
    page = await request(queryOf(page.nextAfter));
  }
}

const queryOf = (after: string | undefined): string =>
  `?${new URLSearchParams({ ...(after !== undefined && { after }), limit: String(LIMIT) })}`;

type OnWire<Value> = { readonly [Name in keyof Value]: bigint extends Value[Name] ? string : Value[Name] };
type EventOnWire = Omit<OnWire<OrderEventV2>, 'order'> & { readonly order: OnWire<OrderEventV2['order']> };

/** @throws PetstoreError if the response is no page of events */
export function readEventsPage(response: ServiceResponse): EventsPage {
  try {
    const { events, nextAfter }: { events: EventOnWire[]; nextAfter: unknown } = JSON.parse(response.text);
    // Without a position the next request would ask for what comes from then on, and miss what came before.
    if (typeof nextAfter !== 'string') throw new TypeError('nextAfter is missing');
    return { events: events.map(eventOf), nextAfter };
  } catch (cause) {
    throw response.createError('The response is not the JSON that it should be.', undefined, cause);
  }
}

const eventOf = ({ orderId, order, ...event }: EventOnWire): OrderEventV2 => ({
  ...event,
  orderId: BigInt(orderId),
  order: { ...order, id: BigInt(order.id), petId: BigInt(order.petId) },
});
