import {
  type Order,
  type OrderCommand,
  orderId,
  type PendingOrder,
  type Pet,
  petId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';

const PLACED_AT = new Date('2026-03-04T05:06:07.089Z');

export const pendingOrder = (id: bigint, facts: Partial<PendingOrder> = {}): PendingOrder => ({
  id: orderId(id),
  petId: petId(7n),
  quantity: 2,
  placedAt: PLACED_AT,
  status: 'pending',
  complete: false,
  ...facts,
});

async function* numbered<Value>(values: readonly Value[]) {
  let line = 1;
  for (const value of values) yield { line: line++, value };
}

export async function importOrders({ orders }: Persistence, values: readonly Order[]): Promise<void> {
  const { insertedCount } = await orders.importOrders(numbered(values));
  if (insertedCount !== values.length) throw new Error('the orders of a test must be importable');
}

interface PetFacts {
  readonly id: bigint;
  readonly name: string;
}

export async function importPets({ pets }: Persistence, values: readonly PetFacts[]): Promise<void> {
  const records = values.map(({ id, name }): Pet => ({ id: petId(id), name }));
  const { insertedCount } = await pets.importPets(numbered(records));
  if (insertedCount !== values.length) throw new Error('the pets of a test must be importable');
}

/** Places a pending order, and applies commands to it. */
export async function placeOrder({ orders }: Persistence, ...commands: OrderCommand[]): Promise<Order> {
  const { order } = await orders.insertOrder(
    {
      petId: petId(7n),
      quantity: 1,
      placedAt: PLACED_AT,
      status: 'pending',
      complete: false,
    },
    SERVICE_ORIGIN,
  );
  for (const command of commands) await orders.applyCommand(order.id, command, PLACED_AT, SERVICE_ORIGIN);
  return order;
}
