export * from './api-key.ts';
export type { Brand } from './brand.ts';
export {
  type Decision,
  decideOrder,
  isQuantity,
  isShipDate,
  type NewOrder,
  type OrderCommand,
  type OrderRefusal,
  type OrderRequest,
  type PlaceRefusal,
  placeOrder,
} from './decide-order.ts';
export * from './int64.ts';
export * from './order.ts';
export * from './order-listing.ts';
export * from './order-page.ts';
export * from './pet.ts';
export * from './plan.ts';
export * from './ports.ts';
export * from './principal.ts';
export * from './restore-order.ts';
export * from './rfc3339.ts';
