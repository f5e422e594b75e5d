import { createPetstoreRestClient } from '@petstore/client/rest';

const petstore = createPetstoreRestClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '',
});

for await (const { id, type, orderId, order } of petstore.v2.orderEvents({ after: '0' })) {
  console.log(`${id} ${type}: order ${orderId} is ${order.status}`);
  if (id === '2') break; // without this it goes on for ever
}
