import type { ApiKeyId, ApiKeySecret } from './api-key.ts';
import type { ChangeOrigin, IdempotencyKey } from './change-origin.ts';
import type { NewOrder, OrderCommand } from './decide-order.ts';
import type { OrderId, PetId } from './ids.ts';
import type { Order } from './order.ts';
import type { OrderTextBatch } from './order-listing.ts';
import type { OrderPage, OrderPageRequest } from './order-page.ts';

/** The present time, passed in so that tests may choose it. */
export type Clock = () => Date;

/** What came of a command: the order as it now is, or the one that the command did not fit (or none). */
export type OrderTransition =
  | { readonly applied: true; readonly order: Order }
  | { readonly applied: false; readonly order: Order | undefined };

/** What came of a call that places an order. */
export interface OrderPlacement {
  /** False if the call was made before under the same idempotency key, and has placed the order then. */
  readonly placed: boolean;
  /** As it was when it was placed. */
  readonly order: Order;
}

export interface OrderRepository {
  /**
   * All orders that were committed when the iteration began, once each, ascending by id, in batches none of which is empty.
   * Each iteration is a list of its own. Nothing is held between two batches.
   */
  listOrders(): AsyncIterable<readonly Order[]>;
  /** The same list as text, of at least one batch. */
  listOrderTexts(): AsyncIterable<OrderTextBatch>;
  /** One statement, which waits for no lock. */
  findOrder(id: OrderId): Promise<Order | undefined>;
  /** One statement. Ids never change, so pages that follow one another hold no order twice. */
  findOrders(request: OrderPageRequest): Promise<OrderPage>;
  /** One conditional statement, which records the change: of any number at once on one order exactly one is applied. */
  applyCommand(id: OrderId, command: OrderCommand, now: Date, origin: ChangeOrigin): Promise<OrderTransition>;
  /**
   * One statement, which records the change.
   *
   * @param idempotencyKey of one call of this actor: the same call under the same key gives the order that it gave before,
   *   and places none
   * @throws IdempotencyKeyReusedError
   */
  insertOrder(order: NewOrder, origin: ChangeOrigin, idempotencyKey?: IdempotencyKey): Promise<OrderPlacement>;
}

export interface Pet {
  readonly id: PetId;
  readonly name: string;
}

export interface PetRepository {
  findPet(id: PetId): Promise<Pet | undefined>;
}

export interface ApiKeyStore {
  /** One round trip. Finds revoked and expired keys, too: see `isValidAt`. */
  findSecret(secretHash: Uint8Array): Promise<ApiKeySecret | undefined>;
  markKeyUsed(id: ApiKeyId, at: Date): Promise<void>;
}

/** Thrown by every port while its storage cannot be reached. Callers get 503 for it, never 401 or 429. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}
