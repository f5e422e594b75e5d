import { createPetstoreRestClient } from '@petstore/client/rest';
import { createTestService } from '@petstore/client/testing';

const service = createTestService({ orders: [{ id: 1n }, { id: 2n, status: 'shipped' }] });
const petstore = createPetstoreRestClient({
  baseUrl: 'http://petstore.test', // any: nothing is sent there
  apiKey: service.externalKey,
  fetch: service.fetch,
});

await petstore.cancelOrder({ orderId: 1n });
const { status } = await petstore.v2.getOrder({ orderId: 1n });
console.log(status);
await petstore.cancelOrder({ orderId: 2n }).catch((error) => console.log(error.code));
await service.close();
