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
       * @description Expected or actual ship date, in UTC with milliseconds. Left out where it is not known.
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
    /** @description The body of every failure, whichever layer it comes from. No operation reads a body yet: `malformed_json`, `payload_too_large`, `unsupported_media_type` are for those that will. */
    Error: {
      /**
       * @description Machine-readable error code.
       * @enum {string}
       */
      code:
        | 'invalid_request'
        | 'malformed_json'
        | 'missing_api_key'
        | 'invalid_api_key'
        | 'insufficient_scope'
        | 'order_not_found'
        | 'pet_not_found'
        | 'route_not_found'
        | 'method_not_allowed'
        | 'request_timeout'
        | 'order_already_shipped'
        | 'order_already_cancelled'
        | 'operation_sunset'
        | 'payload_too_large'
        | 'unsupported_media_type'
        | 'expectation_failed'
        | 'rate_limit_exceeded'
        | 'too_many_in_flight'
        | 'api_key_banned'
        | 'headers_too_large'
        | 'internal_error'
        | 'service_unavailable'
        | 'overloaded';
      /** @description Human-readable description of the error. It may change; decide by the code. */
      message: string;
      /**
       * Format: int32
       * @description The HTTP status code.
       */
      status: number;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export interface operations {
  listOrders: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description All orders. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Order'][];
        };
      };
    };
  };
  cancelOrder: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Identifier of the order to cancel. Send all its digits: many JSON parsers round numbers above 2^53, and a rounded id may be that of another order, which is then cancelled.
         * @example 1
         */
        orderId: bigint;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Order cancelled successfully. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  getPetById: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Identifier of the pet.
         * @example 1
         */
        petId: bigint;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The pet. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Pet'];
        };
      };
    };
  };
}
