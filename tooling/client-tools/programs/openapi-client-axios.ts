import { OpenAPIClientAxios } from 'openapi-client-axios';
import { exactFetch } from './exact-fetch.ts';

interface Settings {
  readonly documentUrl: string;
  readonly apiKey: string;
}

export function createCallers({ documentUrl, apiKey }: Settings) {
  const create = (list: string, options: object = {}) => {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const api = new OpenAPIClientAxios({ definition: documentUrl, axiosConfigDefaults: { headers, ...options } });
    return {
      async list() {
        const client = await api.getClient();
        const answer = await client[list](list === 'listOrders' ? {} : { limit: 1000 });
        return { orders: answer.data, remaining: answer.headers['x-ratelimit-remaining'] };
      },
      async cancel(orderId: unknown) {
        const client = await api.getClient();
        // It throws what is no success.
        const { status, data } = await client.cancelOrder({ orderId }).catch((error) => {
          if (!error.response) throw error;
          return error.response;
        });
        return { status, code: data?.code };
      },
    };
  };
  return {
    v1: create('listOrders'),
    v1Exact: create('listOrders', { adapter: 'fetch', env: { fetch: exactFetch } }),
    v2: create('listOrdersPage'),
  };
}
