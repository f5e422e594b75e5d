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
       * @description Expected or actual ship date, in UTC with milliseconds. Omitted if it is not known.
       */
      shipDate?: string;
      /** @description Whether the order has been fulfilled. */
      complete: boolean;
      /**
       * @description The state of the order. `complete` is a fact about a shipped order, not a state.
       * @enum {string}
       */
      status: 'pending' | 'shipped' | 'cancelled';
      /**
       * Format: date-time
       * @description When the order was placed, in UTC with milliseconds.
       */
      placedAt: string;
      /**
       * Format: date-time
       * @description When the order was shipped, in UTC with milliseconds. Omitted if it is not known.
       */
      shippedAt?: string;
      /**
       * Format: date-time
       * @description When the order was fulfilled, in UTC with milliseconds. Omitted if it is not known.
       */
      completedAt?: string;
      /**
       * Format: date-time
       * @description When the order was cancelled, in UTC with milliseconds. Omitted if it is not known.
       */
      cancelledAt?: string;
    };
    /** @description Changes of orders, and the position to continue from. */
    OrderEvents: {
      /** @description Oldest first. */
      events: components['schemas']['OrderEvent'][];
      /** @description The value to send as `after` in the next request. It stays the same while there are no new events. */
      nextAfter: string;
    };
    /** @description A change of an order, and the order as it was after the change. */
    OrderEvent: {
      /** @description Identifies the event, and is the position after it. A later event has a larger number. */
      id: string;
      /**
       * @description What happened. `order.imported` is reported for imported and generated orders, whatever their status.
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
    /** @description The status of the limits of a key. */
    Limits: {
      minute: components['schemas']['LimitWindow'];
      day: components['schemas']['LimitWindow'];
      /**
       * Format: int32
       * @description Refusals that now count towards a ban.
       */
      refusals: number;
      /** @description Omitted if there is none; a banned key gets 429 instead. */
      ban?: components['schemas']['Ban'];
    };
    /** @description The use of one sliding window by a key. */
    LimitWindow: {
      /**
       * Format: int32
       * @description Maximum number of requests in any period as long as the window.
       */
      limit: number;
      /**
       * Format: int32
       * @description Requests that count now. Exceeds `limit` if the limit was lowered since.
       */
      used: number;
      /**
       * Format: int32
       * @description Exactly this many more requests are admitted now.
       */
      remaining: number;
      /**
       * Format: date-time
       * @description When the next request becomes available, in UTC; the current time if none is used.
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
    /** @description An API key, without its secret. */
    Key: {
      /** @description Names the key, and does not change when it is rotated. */
      id: string;
      /** @description What it was named when it was created. */
      name: string;
      /**
       * @description The plan, which sets its limits.
       * @enum {string}
       */
      plan: 'free' | 'pro' | 'business' | 'enterprise';
      /**
       * @description Over tRPC, internal keys may also place, ship and complete orders.
       * @enum {string}
       */
      kind: 'external' | 'internal';
      /** @description Whether it may change nothing. */
      readOnly: boolean;
      /**
       * Format: date-time
       * @description When it was created, in UTC.
       */
      createdAt: string;
      /**
       * Format: date-time
       * @description When the key that was sent stops being valid, in UTC, because it expires or was rotated; null if no end is set.
       */
      expiresAt: string | null;
    };
    /** @description One page of orders. */
    OrdersPage: {
      orders: components['schemas']['OrderV2'][];
      /** @description The value to send as `cursor` for the next page; null on the last page. */
      next: string | null;
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
  listOrderEvents: {
    parameters: {
      query?: {
        /** @description The `id` of an event, or `nextAfter` of a response: only later events are returned. `0` begins with the oldest retained event. If omitted, only events from now on are returned: none without `wait`, and `nextAfter` is the current position. */
        after?: string;
        /** @description Maximum number of events in the response. */
        limit?: number;
        /** @description How long the response may wait for an event if there is none yet, in seconds. It is sent with the first event, or empty after this time. */
        wait?: number;
      };
    };
  };
  getLimits: {
    parameters: object;
  };
  getKey: {
    parameters: object;
  };
  listOrdersPage: {
    parameters: {
      query?: {
        /** @description Only orders with this status. */
        status?: 'pending' | 'shipped' | 'cancelled';
        /** @description Only orders for this animal. */
        petId?: bigint;
        /** @description Whether the smallest id comes first, or the largest. */
        order?: 'asc' | 'desc';
        /** @description Maximum number of orders on the page. */
        limit?: number;
        /** @description The `next` of the previous page. Valid only with the same filters and order. */
        cursor?: string;
      };
    };
  };
}
