/** In the Accept header, beside the media type of tRPC's streams. Clients of `@petstore/client` send it. */
const PACKED = /;\s*orders=packed\b/;

/**
 * Whether a caller reads lists of orders packed. One that does not say so gets what plain superjson reads.
 *
 * @param accept the request's Accept header
 */
export const acceptsPackedOrders = (accept: string | undefined): boolean => accept !== undefined && PACKED.test(accept);
