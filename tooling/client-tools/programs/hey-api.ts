import { exactFetch } from './exact-fetch.ts';
import { createClient as createClientV1 } from './v1/client/index.ts';
import * as sdkV1 from './v1/sdk.gen.ts';
import type { CancelOrderData as CancelV1 } from './v1/types.gen.ts';
import { createClient as createClientV2 } from './v2/client/index.ts';
import * as sdkV2 from './v2/sdk.gen.ts';
import type { CancelOrderData as CancelV2 } from './v2/types.gen.ts';

export function createCallers({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const options = { baseUrl, auth: apiKey };

  const createV1 = (fetch: typeof globalThis.fetch) => {
    const client = createClientV1({ ...options, fetch });
    return {
      async list() {
        const { data = [], response } = await sdkV1.listOrders({ client });
        return { orders: data, remaining: response?.headers.get('X-RateLimit-Remaining') ?? null };
      },
      async cancel(orderId: CancelV1['path']['orderId']) {
        const { error, response } = await sdkV1.cancelOrder({ client, path: { orderId } });
        return { status: response?.status ?? 0, code: error?.code };
      },
    };
  };

  const client = createClientV2(options);
  return {
    v1: createV1(fetch),
    v1Exact: createV1(exactFetch),
    v2: {
      async list() {
        const { data = [], response } = await sdkV2.listOrdersPage({ client, query: { limit: 1000 } });
        return { orders: data, remaining: response?.headers.get('X-RateLimit-Remaining') ?? null };
      },
      async cancel(orderId: CancelV2['path']['orderId']) {
        const { error, response } = await sdkV2.cancelOrder({ client, path: { orderId } });
        return { status: response?.status ?? 0, code: error?.code };
      },
    },
  };
}
