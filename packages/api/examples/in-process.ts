import { type Context, createCaller, restRoutes, type Services, toErrorResponse } from '@petstore/api';
import { openPersistence } from '@petstore/persistence';
import { InProcessLimiter } from '@petstore/rate-limit';

await using persistence = openPersistence({ databaseUrl: process.env['DATABASE_URL'] ?? '' });
const { orders, pets, events } = persistence;
const services: Services = {
  orders,
  pets,
  events,
  limiter: new InProcessLimiter({ nowMs: Date.now }),
  clock: () => new Date(),
  announceEvents() {},
  beginSearch: () => () => {},
  petsSunsetAt: new Date('2027-06-30'),
};
const context: Context = {
  services,
  principal: { type: 'in-process', name: 'example' },
  requestId: 'example',
  delivery: { type: 'in-process' },
};

const placed = await createCaller(context).orders.place({ petId: 7n, quantity: 2 });
console.log(placed.status);

const route = restRoutes.find(({ operationId }) => operationId === 'cancelOrder');
const cancel = () => route?.call({ orderId: String(placed.id) }, context);
console.log(await cancel());
await cancel()?.catch((error: unknown) => console.log(toErrorResponse(error).body));
