import { createPetstoreClient, petstoreErrorOf } from '@petstore/client';

const petstore = createPetstoreClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '', // an internal one
});

const order = await petstore.orders.place.mutate({ petId: 7n, quantity: 2 });
await petstore.orders.ship.mutate({ orderId: order.id });

try {
  await petstore.orders.cancel.mutate({ orderId: order.id });
} catch (error) {
  const failure = petstoreErrorOf(error);
  if (failure?.code !== 'order_already_shipped') throw error;
  console.log(`too late: ${failure.message}`);
}

for await (const batch of await petstore.orders.list.query()) {
  for (const { id, status } of batch) console.log(`order ${id} is ${status}`);
}
