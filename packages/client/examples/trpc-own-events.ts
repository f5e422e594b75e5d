import { type AppRouter, transformer } from '@petstore/client';
import { createTRPCClient, httpBatchLink, httpLink, splitLink } from '@trpc/client';

const link = {
  url: `${process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000'}/trpc`,
  transformer,
  headers: { authorization: `Bearer ${process.env['PETSTORE_API_KEY']}` },
};
const waits = httpLink(link); // in a batch, other calls would wait, too
const petstore = createTRPCClient<AppRouter>({
  links: [splitLink({ condition: ({ path }) => path === 'orders.events', true: waits, false: httpBatchLink(link) })],
});

for (let after = '0'; after !== '2'; ) {
  // without this condition it goes on for ever
  const page = await petstore.orders.events.query({ after, limit: 1, waitSeconds: 50 });
  for (const { id, type, orderId } of page.events) console.log(`${id} ${type} ${orderId}`);
  after = page.nextAfter; // save it here: the changes before it have been handled
}
