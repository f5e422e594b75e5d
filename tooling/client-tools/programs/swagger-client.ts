import SwaggerClient from 'swagger-client';
import { exactFetch } from './exact-fetch.ts';

interface Settings {
  readonly documentUrl: string;
  readonly apiKey: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export function createCallers({ documentUrl, apiKey }: Settings) {
  const create = (list: string, userFetch?: typeof fetch) => {
    const client = SwaggerClient(documentUrl, {
      authorizations: { apiKey: { value: apiKey } },
      requestInterceptor: (request: { headers: Record<string, string>; userFetch?: typeof fetch }) => {
        request.headers['Authorization'] = `Bearer ${apiKey}`;
        if (userFetch) request.userFetch = userFetch;
        return request;
      },
    });
    const execute = async (operationId: string, parameters: object): Promise<Answer> =>
      (await client).execute({ operationId, parameters });
    return {
      async list() {
        const { body, headers } = await execute(list, list === 'listOrders' ? {} : { limit: 1000 });
        return { orders: body, remaining: headers['x-ratelimit-remaining'] };
      },
      async cancel(orderId: unknown) {
        // It throws what is no success.
        const { status, body } = await execute('cancelOrder', { orderId }).catch(({ response }) => response);
        return { status, code: body?.code };
      },
    };
  };
  return { v1: create('listOrders'), v1Exact: create('listOrders', exactFetch), v2: create('listOrdersPage') };
}
