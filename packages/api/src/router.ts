import { getCurrentLimits } from './procedures/limits/get-current-limits.ts';
import { cancelOrder } from './procedures/orders/cancel-order.ts';
import { completeOrder } from './procedures/orders/complete-order.ts';
import { followOrderEvents } from './procedures/orders/follow-order-events.ts';
import { getOrder } from './procedures/orders/get-order.ts';
import { listOrders } from './procedures/orders/list-orders.ts';
import { placeOrder } from './procedures/orders/place-order.ts';
import { shipOrder } from './procedures/orders/ship-order.ts';
import { getPet } from './procedures/pets/get-pet.ts';
import { listOrdersPage } from './procedures/v2/orders/list-orders-page.ts';
import { createCallerFactory, router } from './trpc/trpc.ts';

/** Every procedure there is, by the name it is called by over tRPC. */
export const appRouter = router({
  orders: router({
    list: listOrders,
    get: getOrder,
    cancel: cancelOrder,
    place: placeOrder,
    ship: shipOrder,
    complete: completeOrder,
    events: followOrderEvents,
  }),
  limits: router({
    current: getCurrentLimits,
  }),
  pets: router({
    get: getPet,
  }),
  v2: router({
    orders: router({
      list: listOrdersPage,
    }),
  }),
});

/** What clients import, as a type alone. */
export type AppRouter = typeof appRouter;

/** Calls procedures from within the process, on behalf of a principal that names itself. */
export const createCaller = createCallerFactory(appRouter);
