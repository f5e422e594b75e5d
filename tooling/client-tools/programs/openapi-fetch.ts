import createClient from 'openapi-fetch';
import { exactFetch } from './exact-fetch.ts';
import type { paths as PathsV1 } from './v1.ts';
import type { paths as PathsV2 } from './v2.ts';

type IdSent<Paths extends PathsV1 | PathsV2> =
  Paths['/store/orders/{orderId}']['delete']['parameters']['path']['orderId'];

export function createCallers({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const options = { baseUrl, headers: { Authorization: `Bearer ${apiKey}` } };

  const createV1 = (fetch: typeof globalThis.fetch) => {
    const client = createClient<PathsV1>({ ...options, fetch });
    return {
      async list() {
        const { data = [], response } = await client.GET('/store/orders');
        return { orders: data, remaining: response.headers.get('X-RateLimit-Remaining') };
      },
      async cancel(orderId: IdSent<PathsV1>) {
        const path = { orderId };
        const { error, response } = await client.DELETE('/store/orders/{orderId}', { params: { path } });
        return { status: response.status, code: error?.code };
      },
    };
  };

  const client = createClient<PathsV2>(options);
  return {
    v1: createV1(fetch),
    v1Exact: createV1(exactFetch),
    v2: {
      async list() {
        const query = { limit: 1000 };
        const { data = [], response } = await client.GET('/store/orders', { params: { query } });
        return { orders: data, remaining: response.headers.get('X-RateLimit-Remaining') };
      },
      async cancel(orderId: IdSent<PathsV2>) {
        const path = { orderId };
        const { error, response } = await client.DELETE('/store/orders/{orderId}', { params: { path } });
        return { status: response.status, code: error?.code };
      },
    },
  };
}
