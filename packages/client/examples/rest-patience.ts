import { createPetstoreRestClient, PetstoreError, RateLimitError } from '@petstore/client/rest';

const petstore = createPetstoreRestClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '',
  maxRetries: 4, // 2 by default
  timeoutMs: 5_000, // of silence, in each attempt; 30 s by default
  maxRetryAfterSeconds: 10, // 65 by default, so that a minute that is used up is waited for
});

try {
  // A call ends when its signal aborts, whatever it is doing or waiting for.
  const orders = await petstore.listOrders({ signal: AbortSignal.timeout(60_000) }).toArray();
  console.log(`${orders.length} orders`);
} catch (error) {
  if (error instanceof RateLimitError) console.log(`come back in ${error.retryAfterSeconds} s`);
  else if (error instanceof PetstoreError) console.log(error.code, error.status, error.requestId);
  else throw error;
}
