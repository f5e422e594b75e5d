import type { OrderId, PetId } from './ids.ts';
import type { StoredOrder } from './order.ts';
import type { OrderStatus } from './order-states.ts';
import type { PageRequest } from './page.ts';

/** Selects orders: those that meet every condition given. */
export interface OrderFilter {
  /** The order has one of these states. At least one must be given. */
  readonly statuses?: readonly OrderStatus[];
  readonly petId?: PetId;
}

/** The directions of ids. */
export const SORT_ORDERS = ['asc', 'desc'] as const;
export type SortOrder = (typeof SORT_ORDERS)[number];

export interface OrderPageRequest extends PageRequest<OrderId> {
  readonly filter: OrderFilter;
  /** @default asc */
  readonly order?: SortOrder;
}

export const matchesFilter = (order: StoredOrder, { statuses, petId }: OrderFilter): boolean =>
  (statuses === undefined || statuses.some((status) => status === order.status)) &&
  (petId === undefined || order.petId === petId);
