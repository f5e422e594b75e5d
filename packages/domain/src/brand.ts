declare const brand: unique symbol;

/** A value that only the named constructor hands out, so that an order's id cannot be passed for a pet's. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
