import { type Connection, createConnection, type PetstoreClientOptions } from '../options.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { components, operations } from './document.ts';
import type { operations as operationsV2 } from './document-v2.ts';
import { parseInt64Objects } from './int64-json.ts';
import { type OrderList, readAllOrders, readOrderBatches, takeUntilAborted } from './order-list.ts';
import { listOrderPages, type OrderFilter, type OrderV2, type OrderV2List } from './order-pages.ts';
import { type CallOptions, createRestCall } from './rest-call.ts';

/** A pet as the REST interface shows it. */
export type Pet = components['schemas']['Pet'];

/** The path parameters of an operation. */
type PathOf<Operations, Name extends keyof Operations> = Operations[Name] extends {
  readonly parameters: { readonly path: infer Path };
}
  ? Path
  : never;

/** The preview of v2: experimental, it may change or be removed with any release of the service. */
export interface PetstoreRestClientV2 {
  /**
   * The orders that meet all of a filter, ascending by id: `for await (const order of v2.listOrders({ petId: 7n }))`. They
   * are read page by page; no order comes twice, and none is missed that met the filter throughout.
   *
   * @throws TypeError where `status` is empty; nothing is requested
   */
  listOrders(filter?: OrderFilter, options?: CallOptions): OrderV2List;

  /** @throws NotFoundError `order_not_found` */
  getOrder(path: PathOf<operationsV2, 'getOrder'>, options?: CallOptions): Promise<OrderV2>;

  /** As `cancelOrder` of v1. */
  cancelOrder(path: PathOf<operationsV2, 'cancelOrder'>, options?: CallOptions): Promise<void>;
}

/** All documented operations, by their names. Failed calls throw {@link PetstoreError}. */
export interface PetstoreRestClient extends Record<keyof operations, unknown> {
  /**
   * All orders placed in the store, ascending by id, whatever their status: `for await (const order of listOrders())`.
   * They are received as they are read, so that memory stays small however many there are.
   */
  listOrders(options?: CallOptions): OrderList;

  /**
   * Cancels an order that is pending. Where the response of an attempt was lost and the next attempt finds the order
   * cancelled, that is a success.
   *
   * @throws NotFoundError `order_not_found`
   * @throws ConflictError `order_already_shipped`, `order_already_cancelled`
   */
  cancelOrder(path: PathOf<operations, 'cancelOrder'>, options?: CallOptions): Promise<void>;

  /**
   * @deprecated The service ends this operation; its responses say when.
   * @throws NotFoundError `pet_not_found`
   * @throws OperationSunsetError once the operation has ended
   */
  getPetById(path: PathOf<operations, 'getPetById'>, options?: CallOptions): Promise<Pet>;

  readonly v2: PetstoreRestClientV2;
}

/**
 * Makes a client of the documented REST interface, for programs of any kind: it needs `fetch` and nothing else.
 *
 * @throws TypeError when an option is not valid
 */
export function createPetstoreRestClient(options: PetstoreClientOptions): PetstoreRestClient {
  return restClientOn(createConnection(options));
}

/** The same, on a connection that it may share with other clients. */
export function restClientOn(connection: Connection): PetstoreRestClient {
  return {
    listOrders(options) {
      const call = createRestCall(connection, 'GET', '/v1/store/orders', options);
      return {
        async *[Symbol.asyncIterator]() {
          const response = await call((begun) => begun);
          for await (const orders of readOrderBatches(response)) yield* takeUntilAborted(orders, options?.signal);
        },
        toArray: () => call(readAllOrders),
      };
    },

    cancelOrder: (path, options) => cancelOrder(connection, '/v1', path, options),

    async getPetById({ petId }, options) {
      const call = createRestCall(connection, 'GET', `/v1/pets/${segmentOf(petId)}`, options);
      return call((response) => readObject<Pet>('pet', response));
    },

    v2: {
      listOrders: (filter, options) => listOrderPages(connection, filter, options),
      async getOrder({ orderId }, options) {
        const call = createRestCall(connection, 'GET', `/v2/store/orders/${segmentOf(orderId)}`, options);
        return call((response) => readObject<OrderV2>('order', response));
      },
      cancelOrder: (path, options) => cancelOrder(connection, '/v2', path, options),
    },
  };
}

async function cancelOrder(
  connection: Connection,
  version: string,
  { orderId }: PathOf<operations, 'cancelOrder'>,
  options?: CallOptions,
): Promise<void> {
  const call = createRestCall(connection, 'DELETE', `${version}/store/orders/${segmentOf(orderId)}`, options);
  const read = (response: ServiceResponse) => {
    response.close();
    // A page of something on the way, such as that of a login, is a 200.
    if (response.status !== 204) throw response.createError();
  };
  await call(read, { code: 'order_already_cancelled', readResult: () => undefined });
}

/** Typed as `bigint`; callers without types may pass anything, which the service then refuses. */
const segmentOf = (id: bigint): string => encodeURIComponent(String(id));

async function readObject<Value extends object>(noun: string, response: ServiceResponse): Promise<Value> {
  const text = await response.readText();
  try {
    const [value] = parseInt64Objects<Value>(`[${text}]`);
    if (value !== undefined) return value;
  } catch (cause) {
    throw response.createError(`The ${noun} is not the JSON that it should be.`, undefined, cause);
  }
  throw response.createError(`The ${noun} is not the JSON that it should be.`);
}
