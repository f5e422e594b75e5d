import {
  type Order,
  type OrderRecord,
  type OrderStatus,
  orderId,
  type Pet,
  petId,
  restoreOrder,
} from '@petstore/domain';

/** The pets of an empty embedded database after its first start. */
export const DEMO_PETS: readonly Pet[] = [
  'Bella',
  'Charlie',
  'Luna',
  'Max',
  'Daisy',
  'Milo',
  'Rosie',
  'Simba',
  'Willow',
  'Otto',
].map((name, index) => ({ id: petId(BigInt(index + 1)), name }));

/** The orders take these states in turn: a person finds one in each state near the top of the list. */
const STATES: readonly { readonly status: OrderStatus; readonly complete: boolean }[] = [
  { status: 'pending', complete: false },
  { status: 'shipped', complete: false },
  { status: 'pending', complete: false },
  { status: 'shipped', complete: true },
  { status: 'cancelled', complete: false },
];
const ORDER_COUNT = 20;
const FIRST_SHIP_DATE_MS = Date.UTC(2026, 0, 5, 9);
const DAY_MS = 86_400_000;

/** Makes twenty orders, some in each state. Except for the times of placing, they are the same at every first start. */
export function createDemoOrders(now: Date): readonly Order[] {
  return Array.from({ length: ORDER_COUNT }, (_, index) => {
    const { status, complete } = STATES[index % STATES.length] ?? { status: 'pending', complete: false };
    const record: OrderRecord = {
      id: orderId(BigInt(index + 1)),
      petId: petId(BigInt((index % DEMO_PETS.length) + 1)),
      quantity: (index % 3) + 1,
      // Every seventh order has no ship date yet.
      ...(index % 7 !== 6 && { shipDate: new Date(FIRST_SHIP_DATE_MS + index * DAY_MS) }),
      status,
      complete,
    };
    const decision = restoreOrder(record, now);
    if (!decision.ok) throw new Error(`a demo order was refused: ${decision.reason}`);
    return decision.value;
  });
}
