import type { OrderId, PetId } from './ids.ts';
import type { Order, OrderStatus } from './order.ts';

/** Selects orders: those that meet every condition given. */
export interface OrderFilter {
  /** The order has one of these states. At least one must be given. */
  readonly statuses?: readonly OrderStatus[];
  readonly petId?: PetId;
  readonly complete?: boolean;
  /** The ship date is this or later. An order without a ship date meets neither bound. */
  readonly shipDateFrom?: Date;
  /** The ship date is earlier than this. */
  readonly shipDateTo?: Date;
}

/** The minimum and maximum number of orders in a page. */
export const PAGE_LIMIT_MIN = 1;
export const PAGE_LIMIT_MAX = 1_000;
/** The default number of orders in a page. */
export const PAGE_LIMIT_DEFAULT = 100;

export interface OrderPageRequest {
  readonly filter: OrderFilter;
  /** Only orders with greater ids are returned. By default the page starts with the first order. */
  readonly afterId?: OrderId;
  /** The maximum number of orders, {@link PAGE_LIMIT_MIN} to {@link PAGE_LIMIT_MAX}. */
  readonly limit: number;
}

/** Some of the orders that match a filter, ascending by id. */
export interface OrderPage {
  readonly orders: readonly Order[];
  /** The position after which the next page begins; left out on the last page. */
  readonly nextAfterId?: OrderId;
}

/**
 * Whether a filter needs a search: the orders are read one by one until a page is full, because no index serves it. Only pets
 * have one.
 */
export const isSearch = ({ statuses, complete, shipDateFrom, shipDateTo }: OrderFilter): boolean =>
  statuses !== undefined || complete !== undefined || shipDateFrom !== undefined || shipDateTo !== undefined;

export function matchesFilter(order: Order, filter: OrderFilter): boolean {
  const { statuses, petId, complete, shipDateFrom, shipDateTo } = filter;
  if (statuses !== undefined && !statuses.includes(order.status)) return false;
  if (petId !== undefined && order.petId !== petId) return false;
  if (complete !== undefined && order.complete !== complete) return false;
  const { shipDate } = order;
  if (shipDateFrom !== undefined && !(shipDate !== undefined && shipDate >= shipDateFrom)) return false;
  return shipDateTo === undefined || (shipDate !== undefined && shipDate < shipDateTo);
}

/** Whether any order could match a filter: only shipped orders are ever complete, and a date range must not be empty. */
export function canMatch({ statuses, complete, shipDateFrom, shipDateTo }: OrderFilter): boolean {
  if (complete === true && statuses !== undefined && !statuses.includes('shipped')) return false;
  return shipDateFrom === undefined || shipDateTo === undefined || shipDateFrom < shipDateTo;
}
