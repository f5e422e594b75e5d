import type { OrderId, PetId } from './ids.ts';
import type { Order, OrderStatus } from './order.ts';

/** Which orders are wanted. An order has to meet every part that is given. */
export interface OrderFilter {
  /** Any of these, one at least. */
  readonly statuses?: readonly OrderStatus[];
  readonly petId?: PetId;
  readonly complete?: boolean;
  /** The ship date is this or later. An order without a ship date meets neither bound. */
  readonly shipDateFrom?: Date;
  /** The ship date is earlier than this. */
  readonly shipDateTo?: Date;
}

/** How many orders a page holds, at least and at most. */
export const PAGE_LIMIT_MIN = 1;
export const PAGE_LIMIT_MAX = 1_000;
/** How many it holds by default. */
export const PAGE_LIMIT_DEFAULT = 100;

export interface OrderPageRequest {
  readonly filter: OrderFilter;
  /** Orders with greater ids only; left out: from the first one. */
  readonly afterId?: OrderId;
  /** Orders at most, {@link PAGE_LIMIT_MIN} to {@link PAGE_LIMIT_MAX}. */
  readonly limit: number;
}

/** Some of the orders that a filter wants, ascending by id. */
export interface OrderPage {
  readonly orders: readonly Order[];
  /** Where the next page begins; left out on the last page. */
  readonly nextAfterId?: OrderId;
}

/** Whether an order is wanted. */
export function matchesFilter(order: Order, filter: OrderFilter): boolean {
  const { statuses, petId, complete, shipDateFrom, shipDateTo } = filter;
  if (statuses !== undefined && !statuses.includes(order.status)) return false;
  if (petId !== undefined && order.petId !== petId) return false;
  if (complete !== undefined && order.complete !== complete) return false;
  const { shipDate } = order;
  if (shipDateFrom !== undefined && !(shipDate !== undefined && shipDate >= shipDateFrom)) return false;
  return shipDateTo === undefined || (shipDate !== undefined && shipDate < shipDateTo);
}

/** Whether any order could meet a filter: only shipped ones are ever complete, and a range has to have an inside. */
export function canMatch({ statuses, complete, shipDateFrom, shipDateTo }: OrderFilter): boolean {
  if (complete === true && statuses !== undefined && !statuses.includes('shipped')) return false;
  return shipDateFrom === undefined || shipDateTo === undefined || shipDateFrom < shipDateTo;
}
