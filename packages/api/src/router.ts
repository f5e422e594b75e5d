import type { AnyTRPCProcedure } from '@trpc/server';
import type { Operation } from './define-operation.ts';
import type { ProcedureContract } from './procedure-contract.ts';
import { getCurrentKey } from './procedures/keys/get-current-key.ts';
import { getCurrentLimits } from './procedures/limits/get-current-limits.ts';
import { cancelOrder } from './procedures/orders/cancel-order.ts';
import { completeOrder } from './procedures/orders/complete-order.ts';
import { getOrder } from './procedures/orders/get-order.ts';
import { listOrderEvents } from './procedures/orders/list-order-events.ts';
import { listOrders } from './procedures/orders/list-orders.ts';
import { placeOrder } from './procedures/orders/place-order.ts';
import { shipOrder } from './procedures/orders/ship-order.ts';
import { getPet } from './procedures/pets/get-pet.ts';
import { listOrdersPage } from './procedures/v2/orders/list-orders-page.ts';
import { createCallerFactory, router } from './trpc/trpc.ts';

/**
 * Every operation, by the name of its procedure. The tags say what the contracts say, to those who call: tRPC's client has
 * them in its types, and a test of ours compares them.
 */
const tree = {
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
  key: {
    /** @beta */
    current: getCurrentKey,
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

/** Operations by name, some in groups. */
interface OperationTree {
  readonly [name: string]: Operation | OperationTree;
}

type ProceduresOf<Tree> = {
  [Name in keyof Tree]: Tree[Name] extends Operation<infer Procedure> ? Procedure : ProceduresOf<Tree[Name]>;
};

/** The procedures over tRPC. */
export type Procedures = ProceduresOf<typeof tree>;

export const appRouter = router(proceduresOf(tree) as Procedures);

/** Clients import this type only. */
export type AppRouter = typeof appRouter;

/** Calls procedures from within the process, for a principal that names itself. */
export const createCaller = createCallerFactory(appRouter);

/** Every operation by the full name of its procedure, such as `orders.cancel`. */
export const operations: ReadonlyMap<string, Operation> = new Map(listOperations(tree));

/** The contract of every operation, by the same names. */
export const procedureContracts: ReadonlyMap<string, ProcedureContract> = new Map(
  Array.from(operations, ([name, { contract }]) => [name, contract]),
);

interface ProcedureTree {
  [name: string]: AnyTRPCProcedure | ProcedureTree;
}

function proceduresOf(tree: OperationTree): ProcedureTree {
  return Object.fromEntries(
    Object.entries(tree).map(([name, branch]) => [name, isOperation(branch) ? branch.procedure : proceduresOf(branch)]),
  );
}

function listOperations(tree: OperationTree, prefix = ''): [name: string, operation: Operation][] {
  return Object.entries(tree).flatMap(([name, branch]) =>
    isOperation(branch) ? [[prefix + name, branch]] : listOperations(branch, `${prefix}${name}.`),
  );
}

function isOperation(branch: Operation | OperationTree): branch is Operation {
  return 'procedure' in branch;
}
