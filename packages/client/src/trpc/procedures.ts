import type { PetstoreErrorCode } from '../errors.ts';
import { TRAITS } from './procedure-traits.ts';

/** The facts about a procedure that the client needs to call it. */
export interface ProcedureTraits {
  /** Whether it returns a stream, which needs a separate response. @default false */
  readonly streams?: true;
  /** How a mutation is repeated after a lost response, so that it is executed only once. */
  readonly repetition?: Repetition;
}

type Repetition =
  /** Its input has an idempotency key, by which the service recognizes a repeated call. */
  | { readonly type: 'idempotency-key' }
  /**
   * It succeeds only once, because it changes a state: the error of a repeated call, which means success after a lost
   * response, and the query that returns the mutation's result for the same input, if the mutation returns anything.
   */
  | { readonly type: 'transition'; readonly doneCode: PetstoreErrorCode; readonly resultOf?: string };

const traits: Readonly<Record<string, ProcedureTraits>> = TRAITS;

/** @param path the procedure's full name, such as `orders.list` */
export const traitsOf = (path: string): ProcedureTraits => traits[path] ?? {};
