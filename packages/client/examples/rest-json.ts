import { createPetstoreRestClient } from '@petstore/client/rest';

const petstore = createPetstoreRestClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '',
});

// Node 22 and newer, and browsers of these years, have it; the compiler's library does not tell.
const { rawJSON = String } = JSON as { rawJSON?: (text: string) => unknown };
const withAllDigits = (_name: string, value: unknown) => (typeof value === 'bigint' ? rawJSON(String(value)) : value);

for await (const order of petstore.listOrders()) console.log(JSON.stringify(order, withAllDigits));
