import type { ApiKeyId, ApiKeySecret } from './api-key.ts';
import type { NewOrder, OrderCommand } from './decide-order.ts';
import type { Order, OrderId } from './order.ts';
import type { OrderListing } from './order-listing.ts';
import type { OrderPage, OrderPageRequest } from './order-page.ts';
import type { Pet, PetId } from './pet.ts';

/** The present moment, passed in so that tests may choose it. */
export type Clock = () => Date;

/** What came of a command: the order as it now is, or the one that the command did not fit (or none). */
export type OrderTransition =
  | { readonly applied: true; readonly order: Order }
  | { readonly applied: false; readonly order: Order | undefined };

export interface OrderRepository {
  listOrders(): OrderListing;
  /** One statement. Ids never change, so pages that follow one another hold no order twice. */
  findOrders(request: OrderPageRequest): Promise<OrderPage>;
  /** One conditional statement: of any number at once on one order exactly one is applied. */
  applyCommand(id: OrderId, command: OrderCommand, now: Date): Promise<OrderTransition>;
  insertOrder(order: NewOrder): Promise<Order>;
}

export interface PetRepository {
  findPet(id: PetId): Promise<Pet | undefined>;
}

export interface ApiKeyStore {
  /** One round trip; revoked and expired keys are found too, and `isValidAt` tells. */
  findSecret(secretHash: Uint8Array): Promise<ApiKeySecret | undefined>;
  markKeyUsed(id: ApiKeyId, at: Date): Promise<void>;
}

/** Thrown by every port while what stands behind it cannot be reached; answered as 503, never as 401 or 429. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}
