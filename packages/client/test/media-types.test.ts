import { stripTypeScriptTypes } from 'node:module';
import { startHttpServer } from '@petstore/testing';
import { expect, test } from 'vitest';
import { createPetstoreClient } from '../src/index.ts';
import { GUIDE_PROGRAMS } from './support/shown-programs.ts';
import { startTestService } from './support/test-service.ts';

// Gateways add parameters to Content-Type, and may write it in another case.

const WRITINGS: readonly ((type: string) => string)[] = [
  (type) => type,
  (type) => `${type}; charset=utf-8`,
  (type) => `${type} ;charset="UTF-8"`,
  (type) => type.toUpperCase(),
];

const CASES = WRITINGS.map((write) => [write('application/json'), write] as const);

test.each(CASES)('the client takes %s for what it is', async (_, write) => {
  const rewrite = async (...[input, init]: Parameters<typeof fetch>) => {
    const response = await fetch(input, init);
    const headers = new Headers(response.headers);
    headers.set('content-type', write(headers.get('content-type') ?? ''));
    return new Response(response.body, { status: response.status, headers });
  };
  await using service = await startTestService();
  const petstore = createPetstoreClient({ baseUrl: service.origin, apiKey: 'internal', fetch: rewrite, maxRetries: 0 });
  const { id } = await petstore.orders.place.mutate({ petId: 7n, quantity: 2 });
  for await (const batch of await petstore.orders.list.query()) expect(batch).toMatchObject([{ id }]);
  for await (const { orderId } of petstore.events({ after: '0' })) {
    expect(orderId).toBe(id);
    break;
  }
});

test.each(CASES)("the guide's fetch takes %s for what it is", async (_, write) => {
  const source = GUIDE_PROGRAMS.find(({ name }) => name === 'client-tools.md 0')?.source ?? '';
  const { exactFetch } = await import(`data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(source))}`);
  await using server = await startHttpServer((__, response) => {
    response.setHeader('content-type', write('application/json')).end('[{"id":9007199254740993}]');
  });
  expect(await (await exactFetch(server.origin)).json()).toEqual([{ id: '9007199254740993' }]);
});
