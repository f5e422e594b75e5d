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
    /** @description The status of the limits of a key. */
    Limits: {
      minute: components['schemas']['LimitWindow'];
      day: components['schemas']['LimitWindow'];
      /**
       * Format: int32
       * @description Refusals that now count towards a ban.
       */
      refusals: number;
      /** @description Null while there is none; a banned key gets 429 instead. */
      ban: components['schemas']['Ban'] | null;
    };
    /** @description The use of one sliding window by a key. */
    LimitWindow: {
      /**
       * Format: int32
       * @description Requests in any span of the length of the window.
       */
      limit: number;
      /**
       * Format: int32
       * @description Requests that count now. More than `limit` where the limit was lowered since.
       */
      used: number;
      /**
       * Format: int32
       * @description Exactly this many more requests are admitted now.
       */
      remaining: number;
      /**
       * Format: date-time
       * @description When the next request is released, in UTC; the present moment if none is used.
       */
      reset: string;
    };
    /** @description A ban in force. */
    Ban: {
      /**
       * Format: date-time
       * @description When it ends, in UTC.
       */
      until: string;
      /**
       * Format: int32
       * @description Counts from 1: bans of 1, 5, 15 and 60 minutes.
       */
      level: number;
    };
    /** @description Changes of orders, and where to go on. */
    OrderEvents: {
      /** @description The oldest first. */
      events: components['schemas']['OrderEvent'][];
      /** @description What to send as `after` next. It stays the same while nothing has changed. */
      nextAfter: string;
    };
    /** @description A change of an order, and the order as it was after the change. */
    OrderEvent: {
      /** @description Identifies the event, and is the position after it. A later event has a larger number. */
      id: string;
      /**
       * @description What happened. `order.imported` is told of imported and generated orders, whatever their status.
       * @enum {string}
       */
      type: 'order.placed' | 'order.imported' | 'order.shipped' | 'order.completed' | 'order.cancelled';
      /**
       * Format: int64
       * @description Identifier of the order. A 64-bit integer in decimal digits.
       */
      orderId: bigint;
      /**
       * Format: date-time
       * @description When it happened, in UTC with milliseconds. A later event may have an earlier time.
       */
      at: string;
      order: components['schemas']['OrderV2'];
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
  getLimits: {
    parameters: object;
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
  listOrderEvents: {
    parameters: {
      query?: {
        /** @description The `id` of an event, or `nextAfter` of a response: only later events are returned. `0`: the beginning of what is kept. Left out: none is returned, and `nextAfter` is the present position. */
        after?: string;
        /** @description How many events the response holds at most. */
        limit?: number;
      };
    };
  };
}
