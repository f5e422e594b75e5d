import { exactFetch } from './exact-fetch.ts';
import { Api as ApiV1 } from './v1.ts';
import { Api as ApiV2 } from './v2.ts';

export function createCallers({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const options = { baseUrl, baseApiParams: { headers: { Authorization: `Bearer ${apiKey}` } } };

  const createV1 = (customFetch: typeof fetch) => {
    const { store } = new ApiV1({ ...options, customFetch });
    return {
      async list() {
        const { data, headers } = await store.listOrders();
        return { orders: data, remaining: headers.get('X-RateLimit-Remaining') };
      },
      async cancel(orderId: Parameters<typeof store.cancelOrder>[0]) {
        // It throws what is no success, with `error` in it; the types say nothing of what is thrown.
        const { status, error } = await store
          .cancelOrder(orderId, { format: 'json' })
          .catch((response) => response as Thrown<typeof store>);
        return { status, code: error?.code };
      },
    };
  };

  const { store } = new ApiV2(options);
  return {
    v1: createV1((...request) => fetch(...request)),
    v1Exact: createV1(exactFetch),
    v2: {
      async list() {
        const { data, headers } = await store.listOrdersPage({ limit: 1000 });
        return { orders: data, remaining: headers.get('X-RateLimit-Remaining') };
      },
      async cancel(orderId: Parameters<typeof store.cancelOrder>[0]) {
        const { status, error } = await store
          .cancelOrder(orderId, { format: 'json' })
          .catch((response) => response as Thrown<typeof store>);
        return { status, code: error?.code };
      },
    },
  };
}

type Thrown<Store extends { cancelOrder(orderId: never): Promise<unknown> }> = Awaited<
  ReturnType<Store['cancelOrder']>
>;
