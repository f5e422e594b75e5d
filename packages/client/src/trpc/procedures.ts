import type { PetstoreErrorCode } from '../errors.ts';

/** The facts about a procedure that the client needs to call it. */
export interface ProcedureTraits {
  /** Whether it returns a stream, which needs a separate response. @default false */
  readonly streams?: true;
  /**
   * For a mutation that takes an idempotency key, with which the service recognizes a repeated call, and executes it only
   * once.
   */
  readonly takesKey?: true;
  /**
   * For a mutation that succeeds only once, because it changes a state: the error of a repeated call, which means success
   * after a lost response, and the query that returns the mutation's result for the same input, if the mutation returns
   * anything.
   */
  readonly transition?: { readonly doneCode: PetstoreErrorCode; readonly resultOf?: 'orders.get' };
}

/** The procedures with special traits. A test compares them with the service's. */
const TRAITS: Readonly<Record<string, ProcedureTraits>> = {
  'orders.list': { streams: true },
  'orders.place': { takesKey: true },
  'orders.ship': { transition: { doneCode: 'order_already_shipped', resultOf: 'orders.get' } },
  'orders.complete': { transition: { doneCode: 'order_already_completed', resultOf: 'orders.get' } },
  'orders.cancel': { transition: { doneCode: 'order_already_cancelled' } },
};

/** @param path the procedure's full name, such as `orders.list` */
export const traitsOf = (path: string): ProcedureTraits => TRAITS[path] ?? {};
