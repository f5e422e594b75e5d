import { type AppRouter, transformer } from '@petstore/client';
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, splitLink } from '@trpc/client';

const link = {
  url: `${process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000'}/trpc`,
  transformer,
  headers: { authorization: `Bearer ${process.env['PETSTORE_API_KEY']}` },
  maxItems: 20, // calls in a request, which the limits admit whole
  maxURLLength: 4_000, // the service refuses 16 kB
};

export const petstore = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ path }) => path === 'orders.list',
      true: httpBatchStreamLink(link),
      false: httpBatchLink(link),
    }),
  ],
});

const { id } = await petstore.orders.place.mutate({ petId: 7n, quantity: 2 });
await petstore.orders.cancel.mutate({ orderId: id });
for await (const batch of await petstore.orders.list.query()) {
  for (const order of batch) console.log(`order ${order.id} is ${order.status}`);
}
