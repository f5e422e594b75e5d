import { expect } from 'vitest';

export const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });

export async function listOrderIds(url: string, key: string | undefined): Promise<number[]> {
  const response = await fetch(`${url}/v1/store/orders`, { headers: bearer(key) });
  expect(response.status).toBe(200);
  const orders = (await response.json()) as { id: number }[]; // the documented response
  return orders.map(({ id }) => id);
}
