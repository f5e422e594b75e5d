import type {
  AnyTRPCMutationProcedure,
  AnyTRPCProcedure,
  AnyTRPCSubscriptionProcedure,
  inferProcedureOutput,
} from '@trpc/server';
import type { PetstoreErrorCode } from '../errors.ts';
import type { Procedures } from './router.ts';

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
  /** Of a mutation that can be carried out once only, as it changes a state: how it is known to have been carried out. */
  readonly transition?: Transition;
}

export interface Transition {
  /** The error of a call for what was done before. Of a call that is sent again after a lost response it means success. */
  readonly doneCode: PetstoreErrorCode;
  /** The query that, with the same input, returns what the mutation returns. @default none: the mutation returns nothing */
  readonly resultOf?: 'orders.get';
}

/** The full names of all procedures whose output is of some type, but for subscriptions. */
type NamesOf<Router, Output = unknown, Prefix extends string = ''> = {
  [Name in keyof Router & string]: Router[Name] extends AnyTRPCSubscriptionProcedure
    ? never
    : Router[Name] extends AnyTRPCProcedure
      ? inferProcedureOutput<Router[Name]> extends Output
        ? `${Prefix}${Name}`
        : never
      : NamesOf<Router[Name], Output, `${Prefix}${Name}.`>;
}[keyof Router & string];
/** The full names of all procedures that change something. */
type NamesOfMutations<Router, Prefix extends string = ''> = {
  [Name in keyof Router & string]: Router[Name] extends AnyTRPCProcedure
    ? Router[Name] extends AnyTRPCMutationProcedure
      ? `${Prefix}${Name}`
      : never
    : NamesOfMutations<Router[Name], `${Prefix}${Name}.`>;
}[keyof Router & string];

/** The procedures that are not called like all others. The compiler demands those that stream or change something; a test compares the rest. */
const TRAITS = {
  'orders.list': { streams: true },
  'orders.place': { takesKey: true },
  'orders.ship': { transition: { doneCode: 'order_already_shipped', resultOf: 'orders.get' } },
  'orders.complete': { transition: { doneCode: 'order_already_completed', resultOf: 'orders.get' } },
  'orders.cancel': { transition: { doneCode: 'order_already_cancelled' } },
  'limits.current': { isFree: true },
} as const satisfies Partial<Record<NamesOf<Procedures>, ProcedureTraits>> &
  Record<NamesOf<Procedures, AsyncIterable<unknown>>, { streams: true }> &
  Record<NamesOfMutations<Procedures>, { takesKey: true } | { transition: Transition }>;

/** @param path the procedure's full name, such as `orders.list` */
export const traitsOf = (path: string): ProcedureTraits =>
  (TRAITS as Readonly<Record<string, ProcedureTraits | undefined>>)[path] ?? {}; // wider, for names that are not in it
