import type {
  AnyTRPCProcedure,
  AnyTRPCSubscriptionProcedure,
  inferProcedureInput,
  inferProcedureOutput,
} from '@trpc/server';
import type { AppRouter } from './router.ts';

/** What the client has to know of a procedure in order to call it. */
export interface ProcedureTraits {
  /** Whether it returns a stream, which takes a response of its own. @default false */
  readonly streams?: true;
  /** Whether calls count towards no limit, so that they are sent while others have to wait. @default false */
  readonly isFree?: true;
  /**
   * Of a mutation that takes an idempotency key: by that the service knows a call that is sent again, and carries it out
   * once. Other mutations could be executed twice.
   */
  readonly takesKey?: true;
}

/** The full names of all procedures whose output is of some type, but for subscriptions. */
type NamesOf<Procedures, Output = unknown, Prefix extends string = ''> = {
  [Name in keyof Procedures & string]: Procedures[Name] extends AnyTRPCSubscriptionProcedure
    ? never
    : Procedures[Name] extends AnyTRPCProcedure
      ? inferProcedureOutput<Procedures[Name]> extends Output
        ? `${Prefix}${Name}`
        : never
      : NamesOf<Procedures[Name], Output, `${Prefix}${Name}.`>;
}[keyof Procedures & string];
/** The full names of all procedures that take an idempotency key. */
type NamesOfKeyed<Procedures, Prefix extends string = ''> = {
  [Name in keyof Procedures & string]: Procedures[Name] extends AnyTRPCProcedure
    ? 'idempotencyKey' extends keyof inferProcedureInput<Procedures[Name]>
      ? `${Prefix}${Name}`
      : never
    : NamesOfKeyed<Procedures[Name], `${Prefix}${Name}.`>;
}[keyof Procedures & string];
type ProceduresOfService = AppRouter['_def']['record'];

/** The procedures that are not called like all others. The compiler demands those that stream or take a key; a test compares the rest. */
const TRAITS = {
  'orders.list': { streams: true },
  'orders.place': { takesKey: true },
  'orders.ship': { takesKey: true },
  'orders.complete': { takesKey: true },
  'orders.cancel': { takesKey: true },
  'limits.current': { isFree: true },
} as const satisfies Partial<Record<NamesOf<ProceduresOfService>, ProcedureTraits>> &
  Record<NamesOf<ProceduresOfService, AsyncIterable<unknown>>, { streams: true }> &
  Record<NamesOfKeyed<ProceduresOfService>, { takesKey: true }>;

/** @param path the procedure's full name, such as `orders.list` */
export const traitsOf = (path: string): ProcedureTraits =>
  (TRAITS as Readonly<Record<string, ProcedureTraits | undefined>>)[path] ?? {}; // wider, for names that are not in it
