import type { EventsPage, EventsRequest } from '../follow-events.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { components } from './document-v2.ts';

/** A change of an order, and the order after it. Its `id` is the position after it, from which to go on. */
export type OrderEventV2 = components['schemas']['OrderEvent'];

/** @param serviceUrl the address of the service, without a slash at its end */
export const eventsOverRest = (serviceUrl: string): EventsRequest<OrderEventV2> => ({
  urlOf(after, limit, wait) {
    const query = new URLSearchParams({
      ...(after !== undefined && { after }),
      limit: String(limit),
      ...(wait > 0 && { wait: String(wait) }),
    });
    return `${serviceUrl}/v2/store/order-events?${query}`;
  },
  read: readEventsPage,
});

type OnWire<Value> = { readonly [Name in keyof Value]: bigint extends Value[Name] ? string : Value[Name] };
type EventOnWire = Omit<OnWire<OrderEventV2>, 'order'> & { readonly order: OnWire<OrderEventV2['order']> };

function readEventsPage(response: ServiceResponse): EventsPage<OrderEventV2> {
  if (!response.ok) throw response.toError();
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
