import { createPetstoreRestClient } from '@petstore/client/rest';

const petstore = createPetstoreRestClient({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  apiKey: process.env['PETSTORE_API_KEY'] ?? '',
});

// Node 22 and newer, and recent browsers, have it; TypeScript's library does not declare it.
const { rawJSON = String } = JSON as { rawJSON?: (text: string) => unknown };
const withAllDigits = (_name: string, value: unknown) => (typeof value === 'bigint' ? rawJSON(String(value)) : value);

for await (const order of petstore.listOrders()) console.log(JSON.stringify(order, withAllDigits));
