import { type Order, orderId, petId } from '@petstore/domain';
import { startTestService, type TestService } from './test-service.ts';

const PLACED_AT = new Date('2026-11-20T12:00:00.000Z');
const facts = (id: bigint, quantity: number) => ({
  id: orderId(id),
  petId: petId(id * 7n),
  quantity,
  placedAt: PLACED_AT,
});
const ORDERS: readonly Order[] = [
  { ...facts(1n, 2), status: 'pending', complete: false },
  { ...facts(2n, 1), status: 'shipped', complete: false, shippedAt: PLACED_AT },
];

/** The service with the two orders that the examples of the README find. */
export async function startReadmeService(): Promise<TestService> {
  const service = await startTestService();
  await service.persistence.orders.importOrders(
    (async function* () {
      for (const [index, value] of ORDERS.entries()) yield { line: index + 1, value };
    })(),
  );
  return service;
}
