// Written by "pnpm --filter @petstore/client generate" from the OpenAPI document. Do not edit.

export interface components {
  schemas: {
    /** @description An order placed in the store. */
    OrderV2: {
      /**
       * Format: int64
       * @description Unique order identifier. A 64-bit integer in decimal digits.
       */
      id: bigint;
      /**
       * Format: int64
       * @description Identifier of the animal in this order. A 64-bit integer in decimal digits.
       */
      petId: bigint;
      /** @description Number of units ordered, 1 to 2147483647. */
      quantity: number;
      /**
       * Format: date-time
       * @description Expected or actual ship date, in UTC with milliseconds. Left out where it is not known.
       */
      shipDate?: string;
      /** @description Whether the order has been fulfilled. */
      complete: boolean;
      /**
       * @description The state that the order is in. `complete` is a fact about a shipped order, not a state.
       * @enum {string}
       */
      status: 'pending' | 'shipped' | 'cancelled';
    };
  };
}
export interface operations {
  getOrder: {
    parameters: {
      path: {
        /** @description Identifier of the order. */
        orderId: bigint;
      };
    };
  };
  cancelOrder: {
    parameters: {
      path: {
        /** @description Identifier of the order to cancel. Send all its digits: many JSON parsers round numbers above 2^53, and a rounded id may be that of another order, which is then cancelled. */
        orderId: bigint;
      };
    };
  };
  listOrdersPage: {
    parameters: {
      query?: {
        /** @description Only orders in this state. Given several times: in any of these states. */
        status?: ('pending' | 'shipped' | 'cancelled')[];
        /** @description Only orders of this animal. */
        petId?: bigint;
        /** @description Only orders that have been fulfilled (`true`), or that have not (`false`). */
        complete?: boolean;
        /** @description Only orders with a ship date at this time or later. What is finer than a millisecond is dropped. */
        shipDateFrom?: string;
        /** @description Only orders with a ship date before this time, which must be later than `shipDateFrom`. */
        shipDateTo?: string;
        /** @description How many orders the page holds at most. */
        limit?: number;
        /** @description Where the page begins: the cursor in the `Link` of the previous page. Valid with the same filters only. */
        cursor?: string;
      };
    };
  };
}
