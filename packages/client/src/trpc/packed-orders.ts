/** The form in which the service sends long lists. The published package holds this module itself, see `scripts/build.ts`. */
export { PACKED_ORDERS_TYPE, unpackOrders } from '@petstore/api/packed-orders';
