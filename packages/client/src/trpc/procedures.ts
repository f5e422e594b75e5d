import type { PetstoreErrorCode } from '../errors.ts';

/** What the client has to know of a procedure in order to call it. */
export interface ProcedureTraits {
  /** Whether it returns a stream, which takes a response of its own. @default false */
  readonly streams?: true;
  /** Whether calls count towards no limit, so that they are sent while others have to wait. @default false */
  readonly isFree?: true;
  /**
   * Of a mutation that takes an idempotency key: by that the service knows a call that is sent again, and carries it out
   * once.
   */
  readonly takesKey?: true;
  /**
   * Of a mutation that can be carried out once only, as it changes a state: the error of a call for what was done before,
   * which means success of a call that is sent again after a lost response; and the query that, with the same input,
   * returns what the mutation returns, if it returns anything.
   */
  readonly transition?: { readonly doneCode: PetstoreErrorCode; readonly resultOf?: 'orders.get' };
}

/** The procedures that are not called like all others. A test compares them with the service's. */
const TRAITS: Readonly<Record<string, ProcedureTraits>> = {
  'orders.list': { streams: true },
  'orders.place': { takesKey: true },
  'orders.ship': { transition: { doneCode: 'order_already_shipped', resultOf: 'orders.get' } },
  'orders.complete': { transition: { doneCode: 'order_already_completed', resultOf: 'orders.get' } },
  'orders.cancel': { transition: { doneCode: 'order_already_cancelled' } },
  'limits.current': { isFree: true },
};

/** @param path the procedure's full name, such as `orders.list` */
export const traitsOf = (path: string): ProcedureTraits => TRAITS[path] ?? {};
