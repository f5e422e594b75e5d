/** The name by which clients know packed orders; another layout takes another name. */
export const PACKED_ORDERS_TYPE = 'petstore.orders.1';

/**
 * Whether a caller reads lists of orders packed. The transformer of `@petstore/client` says so where a call has no input:
 * it names the type as `meta.reads`, beside what superjson writes. Whoever does not gets what plain superjson reads.
 *
 * @param url of a query, which holds its inputs; the name has no character that would be encoded there
 */
export const acceptsPackedOrders = (url: string | undefined): boolean => url?.includes(PACKED_ORDERS_TYPE) === true;
