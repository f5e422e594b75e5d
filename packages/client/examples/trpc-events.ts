import { createPetstoreClient } from '@petstore/client';

const petstore = createPetstoreClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '', // an internal one
});

const placed = await petstore.orders.place.mutate({ petId: 7n, quantity: 2 });
await petstore.orders.cancel.mutate({ orderId: placed.id });

for await (const { id, type, orderId, order } of petstore.events({ after: '0' })) {
  console.log(`${id} ${type}: order ${orderId} is ${order.status}`);
  if (type === 'order.cancelled') break; // without this it goes on for ever
}
