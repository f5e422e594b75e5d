import type { PetstoreError } from '../errors.ts';
import type { EventsPage, EventsRequest } from '../follow-events.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { PetstoreOutputs, TrpcErrorShape } from './router.ts';
import { transformer } from './transformer.ts';
import { errorOfShape } from './trpc-errors.ts';

type OrderEvents = PetstoreOutputs['orders']['events'];

/** A change of an order, and the order after it. */
export type OrderEvent = OrderEvents['events'][number];

/** @param serviceUrl the address of the service, without a slash at its end */
export const eventsOverTrpc = (serviceUrl: string): EventsRequest<OrderEvent> => ({
  urlOf(after, limit, waitSeconds) {
    const input = JSON.stringify(transformer.serialize({ ...(after !== undefined && { after }), limit, waitSeconds }));
    return `${serviceUrl}/trpc/orders.events?input=${encodeURIComponent(input)}`;
  },
  read: readEventsPage,
});

function readEventsPage(response: ServiceResponse): EventsPage<OrderEvent> {
  if (!response.ok) throw errorOf(response);
  try {
    const page = transformer.deserialize(JSON.parse(response.text).result.data) as OrderEvents; // by its type
    if (typeof page.nextAfter !== 'string' || !Array.isArray(page.events)) throw new TypeError('it is no page');
    return page;
  } catch (cause) {
    throw response.createError('The response is not the JSON that it should be.', undefined, cause);
  }
}

/** Without the service's format, the response is that of a proxy, for example. */
function errorOf(response: ServiceResponse): PetstoreError {
  if (response.hasLostKey) return response.toError();
  try {
    return errorOfShape(transformer.deserialize(JSON.parse(response.text).error) as TrpcErrorShape, response);
  } catch {
    return response.toError();
  }
}
