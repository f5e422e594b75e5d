import superjson from 'superjson';

/** How values go over the wire, so that ids are `bigint` and times `Date`. The links of a client of your own need it. */
export const transformer = superjson;
