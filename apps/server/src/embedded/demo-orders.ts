import {
  type Order,
  type OrderRecord,
  type OrderStatus,
  orderId,
  type Pet,
  petId,
  restoreOrder,
} from '@petstore/domain';

/** What a first start puts into an empty embedded database, so that there is something to list and to cancel. */
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

/** In turn, so that a person who looks for an order of some state finds it near the top. */
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

/** Twenty orders, some in each state. All but the times at which they were placed is the same at every first start. */
export function createDemoOrders(now: Date): readonly Order[] {
  return Array.from({ length: ORDER_COUNT }, (_, index) => {
    const { status, complete } = STATES[index % STATES.length] ?? { status: 'pending', complete: false };
    const record: OrderRecord = {
      id: orderId(BigInt(index + 1)),
      petId: petId(BigInt((index % DEMO_PETS.length) + 1)),
      quantity: (index % 3) + 1,
      // One in seven has no date yet.
      ...(index % 7 !== 6 && { shipDate: new Date(FIRST_SHIP_DATE_MS + index * DAY_MS) }),
      status,
      complete,
    };
    const decision = restoreOrder(record, now);
    if (!decision.ok) throw new Error(`a demo order was refused: ${decision.reason}`);
    return decision.value;
  });
}
