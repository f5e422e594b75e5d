import type { EventPosition, OrderEvent, OrderEventId } from '@petstore/domain';
import type { Persistence } from '../src/index.ts';
import { followEvents, type TestStore } from './support.ts';

/** Records an event of an order with this id. */
export const EVENT = `
  insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
  values ('order.placed', now(), 'service', $1, 1, 1, 'pending', false, now())`;

/** Takes events until there are so many. */
export async function takeFrom(
  batches: AsyncIterable<readonly OrderEvent[]>,
  count: number,
): Promise<readonly OrderEvent[]> {
  const seen: OrderEvent[] = [];
  for await (const batch of batches) {
    seen.push(...batch);
    if (seen.length >= count) break;
  }
  return seen;
}

/** Follows until it has seen so many events. */
export const take = async (persistence: Persistence, after: EventPosition, count: number) =>
  takeFrom(await followEvents(persistence, after, AbortSignal.timeout(30_000)), count);

/** Reads the log of a store, whose ids are numbers here. */
export const readEventsOf = (store: TestStore) => ({
  /** The ids of the next so many events behind one. */
  takeIds: async (after: number, count: number) =>
    (await take(store.persistence, BigInt(after) as OrderEventId, count)).map(({ id }) => Number(id)), // of a test's log
  /** The ids of a page, and where the next one begins. */
  async readPage(after: number | 'now', limit = 1_000): Promise<readonly [ids: readonly number[], next: number]> {
    const position = after === 'now' ? after : (BigInt(after) as OrderEventId); // of a test's log
    const { events, nextAfter } = await store.persistence.events.readEvents(position, limit);
    return [events.map(({ id }) => Number(id)), Number(nextAfter)];
  },
  countEvents: async () => Number((await store.query('select count(*) from order_events')).rows[0]?.[0]),
});
