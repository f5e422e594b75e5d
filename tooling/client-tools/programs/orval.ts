import * as v1 from './v1.ts';
import * as v1Exact from './v1-exact.ts';
import * as v2 from './v2.ts';

export function createCallers({ apiKey }: { apiKey: string }) {
  const options = { headers: { Authorization: `Bearer ${apiKey}` } };

  const createV1 = ({ listOrders, cancelOrder }: typeof v1 | typeof v1Exact) => ({
    async list() {
      const { status, data, headers } = await listOrders(options);
      return { orders: status === 200 ? data : [], remaining: headers.get('X-RateLimit-Remaining') };
    },
    async cancel(orderId: Parameters<typeof cancelOrder>[0]) {
      const { status, data } = await cancelOrder(orderId, options);
      return { status, code: data?.code };
    },
  });

  return {
    v1: createV1(v1),
    v1Exact: createV1(v1Exact),
    v2: {
      async list() {
        const { status, data, headers } = await v2.listOrdersPage({ limit: 1000 }, options);
        return { orders: status === 200 ? data : [], remaining: headers.get('X-RateLimit-Remaining') };
      },
      async cancel(orderId: Parameters<typeof v2.cancelOrder>[0]) {
        const { status, data } = await v2.cancelOrder(orderId, options);
        return { status, code: data?.code };
      },
    },
  };
}
