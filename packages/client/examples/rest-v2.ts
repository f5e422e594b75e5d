import { createPetstoreRestClient } from '@petstore/client/rest';

const petstore = createPetstoreRestClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '',
});

for await (const order of petstore.v2.listOrders({ order: 'desc', limit: 500 })) {
  console.log(`order ${order.id} is ${order.status}`);
}
