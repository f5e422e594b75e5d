import { type AppRouter, transformer } from '@petstore/client';
import { createTRPCClient, httpSubscriptionLink } from '@trpc/client';
import { EventSource } from 'eventsource';

const authorization = `Bearer ${process.env['PETSTORE_API_KEY']}`;
const petstore = createTRPCClient<AppRouter>({
  links: [
    httpSubscriptionLink({
      url: `${process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000'}/trpc`,
      transformer,
      EventSource,
      eventSourceOptions: {
        async fetch(url, init) {
          const response = await fetch(url, { ...init, headers: { ...init.headers, authorization } });
          if (response.status >= 500) throw new Error(`status ${response.status}`); // like a lost connection
          return response;
        },
      },
    }),
  ],
});

for await (const { id, data } of petstore.orders.events.subscribe({ after: '0' })) {
  console.log(`${id} ${data.type} ${data.orderId}`);
  if (id === '2') break; // without this it goes on for ever
}
