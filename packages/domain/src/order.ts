import type { OrderId, PetId } from './ids.ts';

/** Seeds of generated orders are whole numbers from 0 to this. */
export const GENERATION_SEED_MAX = 2_147_483_647;

export const QUANTITY_MIN = 1;
export const QUANTITY_MAX = 2_147_483_647;

/** First and last ship date: the instants that RFC 3339 writes with a year of 0001 to 9999. */
export const SHIP_DATE_MIN = new Date('0001-01-01T00:00:00.000Z');
export const SHIP_DATE_MAX = new Date('9999-12-31T23:59:59.999Z');

/** Whether a number of units can be ordered: a whole number from {@link QUANTITY_MIN} to {@link QUANTITY_MAX}. */
export const isQuantity = (value: number): boolean =>
  Number.isInteger(value) && value >= QUANTITY_MIN && value <= QUANTITY_MAX;

/** Whether a moment can be a ship date: from {@link SHIP_DATE_MIN} to {@link SHIP_DATE_MAX}. */
export function isShipDate(value: Date): boolean {
  const ms = value.getTime(); // comparing the dates themselves takes many times as long
  return ms >= SHIP_DATE_MIN.getTime() && ms <= SHIP_DATE_MAX.getTime();
}

interface OrderFacts {
  readonly id: OrderId;
  readonly petId: PetId;
  /** Units ordered, {@link QUANTITY_MIN} to {@link QUANTITY_MAX}. */
  readonly quantity: number;
  /** Expected or actual ship date, {@link SHIP_DATE_MIN} to {@link SHIP_DATE_MAX}; left out if it is unknown. */
  readonly shipDate?: Date;
  readonly placedAt: Date;
}

/** An order that was placed. It may still be shipped or cancelled. */
export interface PendingOrder extends OrderFacts {
  readonly status: 'pending';
  readonly complete: false;
}

/** An order on its way. It can only become complete. */
export interface ShippedOrder extends OrderFacts {
  readonly status: 'shipped';
  readonly complete: false;
  readonly shippedAt: Date;
}

/** An order that was shipped and fulfilled. It does not change any more. */
export interface CompletedOrder extends OrderFacts {
  readonly status: 'shipped';
  readonly complete: true;
  readonly shippedAt: Date;
  readonly completedAt: Date;
}

/** An order that was withdrawn before it was shipped. It stays in lists, because it was placed. */
export interface CancelledOrder extends OrderFacts {
  readonly status: 'cancelled';
  readonly complete: false;
  readonly cancelledAt: Date;
}

/** An order in one of its states. `complete` is a fact about a shipped order, not a state. */
export type Order = PendingOrder | ShippedOrder | CompletedOrder | CancelledOrder;

export type OrderStatus = Order['status'];

export const ORDER_STATUSES = ['pending', 'shipped', 'cancelled'] as const satisfies readonly OrderStatus[];
