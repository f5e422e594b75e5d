/** Calls through the proxy, with an exact parser of its own. */
import { exactFetch } from './exact-fetch.ts';

export function createCallers({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const init = { headers: { Authorization: `Bearer ${apiKey}` } };
  const fetchOrThrow = async (path: string) => {
    const response = await exactFetch(`${baseUrl}${path}`, init);
    if (response.ok) return response;
    throw new Error(`${response.status}, ${(await response.json()).validation[0].message}`);
  };
  const create = (query: string) => ({
    async list() {
      const response = await fetchOrThrow(`/store/orders${query}`);
      return { orders: await response.json(), remaining: response.headers.get('X-RateLimit-Remaining') };
    },
    async cancel(orderId: unknown) {
      const response = await exactFetch(`${baseUrl}/store/orders/${orderId}`, { ...init, method: 'DELETE' });
      const text = await response.text();
      const { code, detail } = text === '' ? {} : JSON.parse(text);
      return { status: response.status, code: code ?? detail };
    },
  });
  return { v1: create(''), v2: create('?limit=1000') };
}
