import type { AnyTRPCProcedure, AnyTRPCQueryProcedure } from '@trpc/server';
import type { ProcedureContract } from './procedure-contract.ts';
import { getCurrentLimits, getCurrentLimitsContract } from './procedures/limits/get-current-limits.ts';
import { cancelOrder, cancelOrderContract } from './procedures/orders/cancel-order.ts';
import { completeOrder, completeOrderContract } from './procedures/orders/complete-order.ts';
import { getOrder, getOrderContract } from './procedures/orders/get-order.ts';
import { listOrderEvents, listOrderEventsContract } from './procedures/orders/list-order-events.ts';
import { listOrders, listOrdersContract } from './procedures/orders/list-orders.ts';
import { placeOrder, placeOrderContract } from './procedures/orders/place-order.ts';
import { shipOrder, shipOrderContract } from './procedures/orders/ship-order.ts';
import { getPet, getPetContract } from './procedures/pets/get-pet.ts';
import { listOrdersPage, listOrdersPageContract } from './procedures/v2/orders/list-orders-page.ts';
import { createCallerFactory, router } from './trpc/trpc.ts';

/**
 * Every procedure there is. The tags say what the contracts say, to those who call: tRPC's client has them in its types, and
 * a test of ours compares them.
 */
const procedures = {
  orders: {
    list: listOrders,
    /** @beta */
    get: getOrder,
    cancel: cancelOrder,
    place: placeOrder,
    ship: shipOrder,
    complete: completeOrder,
    /** @experimental */
    events: listOrderEvents,
  },
  limits: {
    /** @beta */
    current: getCurrentLimits,
  },
  pets: {
    /** @deprecated There is no replacement, because the service is about orders. The `Sunset` header says when it ends. */
    get: getPet,
  },
  v2: {
    orders: {
      /** @experimental */
      list: listOrdersPage,
    },
  },
};

export type Procedures = typeof procedures;

export const appRouter = router(procedures);

/** Clients import this type only. */
export type AppRouter = typeof appRouter;

/** Calls procedures from within the process, for a principal that names itself. */
export const createCaller = createCallerFactory(appRouter);

/** The compiler requires a contract of the right type for each procedure. */
const CONTRACTS = {
  'orders.list': listOrdersContract,
  'orders.get': getOrderContract,
  'orders.cancel': cancelOrderContract,
  'orders.place': placeOrderContract,
  'orders.ship': shipOrderContract,
  'orders.complete': completeOrderContract,
  'orders.events': listOrderEventsContract,
  'limits.current': getCurrentLimitsContract,
  'pets.get': getPetContract,
  'v2.orders.list': listOrdersPageContract,
} satisfies {
  readonly [Path in PathOf<Procedures>]: ProcedureContract & {
    readonly type: CallTypeOf<ProcedureAt<Procedures, Path>>;
  };
};

/** The contract of every procedure, by its name over tRPC. */
export const procedureContracts: ReadonlyMap<string, ProcedureContract> = new Map(Object.entries(CONTRACTS));

/** The names of a router's procedures, such as `orders.cancel`. */
type PathOf<Procedures, Prefix extends string = ''> = {
  [Name in keyof Procedures & string]: Procedures[Name] extends AnyTRPCProcedure
    ? `${Prefix}${Name}`
    : PathOf<Procedures[Name], `${Prefix}${Name}.`>;
}[keyof Procedures & string];

type ProcedureAt<Procedures, Path> = Path extends keyof Procedures
  ? Procedures[Path]
  : Path extends `${infer Name extends keyof Procedures & string}.${infer Rest}`
    ? ProcedureAt<Procedures[Name], Rest>
    : never;

type CallTypeOf<Procedure> = Procedure extends AnyTRPCQueryProcedure ? 'query' : 'mutation';
