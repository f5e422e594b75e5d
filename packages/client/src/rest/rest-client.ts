import { type Connection, createConnection } from '../connection.ts';
import { checkFollowOptions, type FollowEventsOptions, followEvents } from '../follow-events.ts';
import { type CallOptions, checkCallOptions, type PetstoreClientOptions } from '../options.ts';
import { pause } from '../transport/clock.ts';
import { withRetries } from '../transport/retries.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { components, operations } from './document.ts';
import type { components as componentsV2, operations as operationsV2 } from './document-v2.ts';
import { parseInt64Objects, parseObjects, withBigInts } from './int64-json.ts';
import { eventsOverRest, type OrderEventV2 } from './order-events.ts';
import {
  listOf,
  type Order,
  type OrderFilter,
  type OrderList,
  type OrderV2,
  readBatches,
  readObjects,
  readPages,
} from './order-lists.ts';

/** A pet over REST. */
export type Pet = components['schemas']['Pet'];

/** The rate limit status of the key: what remains in each window, and when it resets. */
export type Limits = componentsV2['schemas']['Limits'];

/** The key that calls, without its secret. */
export type Key = componentsV2['schemas']['Key'];

/** The methods of operations that are named otherwise: each does more than one call of its operation, or reads shorter. */
interface MethodNames {
  readonly listOrdersPage: 'listOrders';
  readonly listOrderEvents: 'orderEvents';
  readonly getLimits: 'limits';
  readonly getKey: 'key';
}

type MethodOf<Operation> = Operation extends keyof MethodNames ? MethodNames[Operation] : Operation & string;

/** The preview of v2. What is beta is meant to stay, what is experimental may change or go with any release of the service. */
export interface PetstoreRestClientV2 {
  /**
   * The orders that match a filter, by their ids: `for await (const order of v2.listOrders({ petId: 7n }))`. They are
   * read page by page. No order comes twice, and no order that matches throughout is missed.
   *
   * @experimental
   */
  listOrders(filter?: OrderFilter, options?: CallOptions): OrderList<OrderV2>;

  /**
   * @beta
   * @throws NotFoundError `order_not_found`
   */
  getOrder(path: operationsV2['getOrder']['parameters']['path'], options?: CallOptions): Promise<OrderV2>;

  /**
   * Works like `cancelOrder` of v1.
   *
   * @beta
   */
  cancelOrder(path: operationsV2['cancelOrder']['parameters']['path'], options?: CallOptions): Promise<void>;

  /**
   * The rate limit status of the key. The call is a request like any other.
   *
   * @beta
   */
  limits(options?: CallOptions): Promise<Limits>;

  /**
   * What the service knows of the key: what it may do, and until when.
   *
   * @beta
   */
  key(options?: CallOptions): Promise<Key>;

  /**
   * The changes of orders, in order and without gaps: `for await (const { id, order } of v2.orderEvents({ after }))`. It
   * waits for them, by calls that use at most half of the key's day: on Free one in 173 s. It goes on until its reader leaves
   * the loop, after failures as well.
   *
   * @experimental
   * @throws TypeError if an option is not valid; nothing is requested
   * @throws EventsExpiredError if events after the position have been deleted
   * @throws InvalidRequestError if there is no such position; AuthenticationError; the signal's reason if it aborts
   */
  orderEvents(options?: FollowEventsOptions): AsyncGenerator<OrderEventV2, void, undefined>;
}

/** All documented operations, by their names. Failed calls throw {@link PetstoreError}. */
export interface PetstoreRestClient {
  /**
   * All orders placed in the store, ascending by id, whatever their status: `for await (const order of listOrders())`.
   * They are received as they are read: memory use stays small, however many there are.
   */
  listOrders(options?: CallOptions): OrderList;

  /**
   * Cancels a pending order. If the response of an attempt was lost and the next attempt finds the order cancelled, the
   * call succeeds.
   *
   * @throws NotFoundError `order_not_found`
   * @throws ConflictError `order_already_shipped`, `order_already_cancelled`
   */
  cancelOrder(path: operations['cancelOrder']['parameters']['path'], options?: CallOptions): Promise<void>;

  /**
   * @deprecated There is no replacement, because the service is about orders. The `Sunset` header says when it ends.
   * @throws NotFoundError `pet_not_found`
   * @throws OperationSunsetError once the operation has ended
   */
  getPetById(path: operations['getPetById']['parameters']['path'], options?: CallOptions): Promise<Pet>;

  readonly v2: PetstoreRestClientV2;
}

/** @throws TypeError if an option is not valid */
export function createPetstoreRestClient(options: PetstoreClientOptions): PetstoreRestClient {
  return restClientOn(createConnection(options));
}

/** How an operation is requested, and its response read. */
interface Exchange<Value> {
  readonly method: 'GET' | 'DELETE';
  readonly path: string;
  /** @throws PetstoreError if the response is not a success */
  readonly read: (response: ServiceResponse, isAfterLoss: boolean) => Value;
  /** Whether the body is read as it arrives. @default false */
  readonly streams?: boolean;
}

/** Makes the client on a connection that it may share with other clients. */
export function restClientOn(connection: Connection): PetstoreRestClient {
  const { options: defaults, clock, random, send } = connection;
  /** Sends requests until one succeeds, or another would not help. */
  const request = async <Value>(
    { method, path, read, streams }: Exchange<Value>,
    options: CallOptions = {},
  ): Promise<Value> => {
    checkCallOptions(options);
    const { signal, timeoutMs, maxRetries = defaults.maxRetries } = options;
    const { maxRetryAfterSeconds, serviceUrl } = defaults;
    const wait = (delayMs: number) => pause(clock, delayMs, signal);
    return withRetries({ maxRetries, maxRetryAfterSeconds, random, wait }, async (isAfterLoss) => {
      const headers = { accept: 'application/json' };
      const response = await send({ method, url: serviceUrl + path, headers, signal, timeoutMs, streams });
      return read(response, isAfterLoss);
    });
  };
  const get = (path: string, options?: CallOptions, streams = false) =>
    request({ method: 'GET', path, read: requireOk, streams }, options);
  const getOrderOrPet = <Value extends Order | OrderV2 | Pet>(path: string, options?: CallOptions): Promise<Value> =>
    request({ method: 'GET', path, read: (response) => readObject(response, parseInt64Objects<Value>) }, options);
  const getObject = <Value extends Limits | Key>(path: string, options?: CallOptions): Promise<Value> =>
    request({ method: 'GET', path, read: (response) => readObject(response, parseObjects<Value>) }, options);
  const cancelOrder = (path: string, options?: CallOptions) =>
    request({ method: 'DELETE', path, read: readCancelled }, options);
  const v2: PetstoreRestClientV2 = {
    listOrders(filter = {}, options = {}) {
      checkCallOptions(options);
      return listOf(
        () => readPages('orders', filter, (query) => get(`/v2/store/orders${query}`, options), withBigInts<OrderV2>),
        options,
      );
    },
    getOrder: ({ orderId }, options) => getOrderOrPet(`/v2/store/orders/${segmentOf(orderId)}`, options),
    cancelOrder: ({ orderId }, options) => cancelOrder(`/v2/store/orders/${segmentOf(orderId)}`, options),
    limits: (options) => getObject<Limits>('/v2/limits', options),
    key: (options) => getObject<Key>('/v2/key', options),
    orderEvents(options = {}) {
      checkFollowOptions(options);
      return followEvents(connection, eventsOverRest(defaults.serviceUrl), options);
    },
  } satisfies PetstoreRestClientV2 & Record<MethodOf<keyof operationsV2>, unknown>;
  return {
    listOrders(options) {
      return listOf<Order>(async function* (streams) {
        const response = await get('/v1/store/orders', options, streams);
        yield* readBatches<Order>(response, streams ? response.readTexts() : response.texts);
      }, options);
    },
    cancelOrder: ({ orderId }, options) => cancelOrder(`/v1/store/orders/${segmentOf(orderId)}`, options),
    getPetById: ({ petId }, options) => getOrderOrPet(`/v1/pets/${segmentOf(petId)}`, options),
    v2,
  } satisfies PetstoreRestClient & Record<keyof operations, unknown>;
}

function requireOk(response: ServiceResponse): ServiceResponse {
  if (!response.ok) throw response.toError();
  return response;
}

function readObject<Value extends object>(response: ServiceResponse, parse: (text: string) => Value[]): Value {
  const { text } = requireOk(response);
  const [value] = readObjects(`[${text}]`, response, parse);
  if (value === undefined) throw response.createError();
  return value;
}

/** @param isAfterLoss an order that is cancelled already may be so by an earlier attempt */
function readCancelled(response: ServiceResponse, isAfterLoss: boolean): void {
  // Any other success comes from something in between, such as a login page with status 200.
  if (response.status === 204) return;
  const error = response.toError();
  if (!(isAfterLoss && error.code === 'order_already_cancelled')) throw error;
}

/** Typed as `bigint`; callers without types may pass anything, which the service then refuses. */
const segmentOf = (id: bigint): string => encodeURIComponent(String(id));
