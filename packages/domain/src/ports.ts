import type { ApiKeyId, ApiKeySecret } from './api-key.ts';
import type { ChangeOrigin, IdempotencyKey } from './change-origin.ts';
import type { NewOrder } from './decide-order.ts';
import type { OrderId, PetId } from './ids.ts';
import type { Order, StoredOrder } from './order.ts';
import type { ListedField } from './order-fields.ts';
import type { OrderBatch, OrderTextBatch } from './order-listing.ts';
import type { OrderPageRequest } from './order-page.ts';
import type { OrderCommand } from './order-states.ts';
import type { Page } from './page.ts';

/** Returns the present time; tests can pass their own. */
export type Clock = () => Date;

/** The result of a command: the order after it, or the order (if any) that the command did not apply to. */
export type OrderTransition =
  | { readonly applied: true; readonly order: Order }
  | { readonly applied: false; readonly order: StoredOrder | undefined };

/** The result of placing an order. */
export interface OrderPlacement {
  /** False if an earlier call with the same idempotency key has placed the order. */
  readonly placed: boolean;
  /** The order as it was placed. */
  readonly order: Order;
}

export interface OrderRepository {
  /**
   * All orders that were committed when the iteration began, once each and ascending by id, in at least one batch. Each
   * iteration is a separate list. Nothing is held between two batches.
   */
  listOrders(): AsyncIterable<OrderBatch>;
  /** The same list as text. @param fields those that the texts have */
  listOrderTexts<Name extends ListedField>(fields: readonly Name[]): AsyncIterable<OrderTextBatch<Name>>;
  /** Runs one statement, which waits for no lock. */
  findOrder(id: OrderId): Promise<StoredOrder | undefined>;
  /** Runs one statement. */
  findOrders(request: OrderPageRequest): Promise<Page<StoredOrder>>;
  /**
   * Applies the command and records the change, in one statement, or does neither. Each of concurrent commands for one order
   * is decided by the state that those before it left. One for an order that another transaction has locked is tried again.
   *
   * @throws StorageUnavailableError also if the order stays locked
   */
  applyCommand(id: OrderId, command: OrderCommand, now: Date, origin: ChangeOrigin): Promise<OrderTransition>;
  /**
   * Inserts the order and records the change, in one statement, or does neither. If a concurrent call with the same key makes
   * it fail, it is tried again a few times.
   *
   * @param idempotencyKey names one call of this actor: repeating the call with the same key returns the order that the
   *   first call placed, and places none
   * @throws DomainError `idempotency_key_reused`
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
  /** Takes one round trip. Revoked and expired keys are returned, too: see `isValidAt`. */
  findSecret(secretHash: Uint8Array): Promise<ApiKeySecret | undefined>;
  markKeyUsed(id: ApiKeyId, at: Date): Promise<void>;
}

/** Thrown by every port while its storage cannot be reached. The caller gets 503, never 401 or 429. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}
