import { ConflictError, createPetstoreRestClient, NotFoundError } from '@petstore/client/rest';

const petstore = createPetstoreRestClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '',
});

for await (const order of petstore.listOrders()) {
  console.log(`order ${order.id}: pet ${order.petId}, quantity ${order.quantity}`);
}

for (const orderId of [1n, 2n, 3n]) {
  try {
    await petstore.cancelOrder({ orderId });
    console.log(`order ${orderId} is cancelled`);
  } catch (error) {
    if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
    console.log(`order ${orderId} is not: ${error.code}`);
  }
}
