// Written by "pnpm --filter @petstore/client generate" from the OpenAPI document. Do not edit.

export interface components {
  schemas: {
    /** @description An order placed in the store. */
    Order: {
      /**
       * Format: int64
       * @description Unique order identifier.
       */
      id?: bigint;
      /**
       * Format: int64
       * @description Identifier of the animal in this order.
       */
      petId?: bigint;
      /** @description Number of units ordered, 1 to 2147483647. */
      quantity?: number;
      /**
       * Format: date-time
       * @description Expected or actual ship date, in UTC with milliseconds. Omitted if it is not known.
       */
      shipDate?: string;
      /** @description Whether the order has been fulfilled. */
      complete?: boolean;
    };
    /** @description A pet in the catalogue. */
    Pet: {
      /**
       * Format: int64
       * @description Unique pet identifier.
       */
      id: bigint;
      /** @description What the pet is called. */
      name: string;
    };
  };
}
export interface operations {
  listOrders: {
    parameters: object;
  };
  cancelOrder: {
    parameters: {
      path: {
        /** @description Identifier of the order to cancel. Send all its digits: many JSON parsers round numbers above 2^53, and a rounded id may be that of another order, which is then cancelled. */
        orderId: bigint;
      };
    };
  };
  getPetById: {
    parameters: {
      path: {
        /** @description Identifier of the pet. */
        petId: bigint;
      };
    };
  };
}
