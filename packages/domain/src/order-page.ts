import type { OrderId, PetId } from './ids.ts';
import type { StoredOrder } from './order.ts';
import type { OrderStatus } from './order-states.ts';

/** Selects orders: those that meet every condition given. */
export interface OrderFilter {
  /** The order has one of these states. At least one must be given. */
  readonly statuses?: readonly OrderStatus[];
  readonly petId?: PetId;
}

/** The minimum and maximum number of orders in a page. */
export const PAGE_LIMIT_MIN = 1;
export const PAGE_LIMIT_MAX = 1_000;
/** The default number of orders in a page. */
export const PAGE_LIMIT_DEFAULT = 100;

/** The directions of ids. */
export const SORT_ORDERS = ['asc', 'desc'] as const;
export type SortOrder = (typeof SORT_ORDERS)[number];

export interface OrderPageRequest {
  readonly filter: OrderFilter;
  /** @default asc */
  readonly order?: SortOrder;
  /** Only orders that follow this one are returned. By default the page starts with the first order. */
  readonly afterId?: OrderId;
  /** The maximum number of orders, {@link PAGE_LIMIT_MIN} to {@link PAGE_LIMIT_MAX}. */
  readonly limit: number;
}

/** Some of the orders that match a filter, in the requested order of ids. */
export interface OrderPage {
  readonly orders: readonly StoredOrder[];
  /** The position after which the next page begins; left out on the last page. */
  readonly nextAfterId?: OrderId;
}

export const matchesFilter = (order: StoredOrder, { statuses, petId }: OrderFilter): boolean =>
  (statuses === undefined || statuses.some((status) => status === order.status)) &&
  (petId === undefined || order.petId === petId);
