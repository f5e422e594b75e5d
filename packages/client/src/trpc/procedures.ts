import type { AnyTRPCProcedure, inferProcedureOutput } from '@trpc/server';
import type { AppRouter, ErrorCode } from './router.ts';

/** What the client has to know of a procedure in order to call it. */
export interface ProcedureTraits {
  /** Whether it returns a stream, which takes a response of its own. @default false */
  readonly streams?: true;
  /** Whether calls count towards no limit, so that they are sent while others have to wait. @default false */
  readonly isFree?: true;
  /**
   * Of a mutation that may be sent again although the service may have executed it: the error code by which the service
   * then says that it had. Other mutations could be executed twice, or fail although they were executed.
   */
  readonly doneCode?: ErrorCode;
}

/** The full names of all procedures whose output is of some type. */
type NamesOf<Procedures, Output = unknown, Prefix extends string = ''> = {
  [Name in keyof Procedures & string]: Procedures[Name] extends AnyTRPCProcedure
    ? inferProcedureOutput<Procedures[Name]> extends Output
      ? `${Prefix}${Name}`
      : never
    : NamesOf<Procedures[Name], Output, `${Prefix}${Name}.`>;
}[keyof Procedures & string];
type ProceduresOfService = AppRouter['_def']['record'];

/** The procedures that are not called like all others. The compiler demands those that stream; a test compares the rest. */
const TRAITS = {
  'orders.list': { streams: true },
  'orders.cancel': { doneCode: 'order_already_cancelled' },
  'limits.current': { isFree: true },
} as const satisfies Partial<Record<NamesOf<ProceduresOfService>, ProcedureTraits>> &
  Record<NamesOf<ProceduresOfService, AsyncIterable<unknown>>, { streams: true }>;

/** @param path the procedure's full name, such as `orders.list` */
export const traitsOf = (path: string): ProcedureTraits =>
  (TRAITS as Readonly<Record<string, ProcedureTraits | undefined>>)[path] ?? {}; // wider, for names that are not in it
