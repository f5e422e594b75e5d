import { IDEMPOTENCY_KEY_TTL_MS } from '@petstore/domain';
import { prepareStatement, type QuerySender } from '../database/statement.ts';

/** How many rows a step deletes, so that each is short. */
const STEP = 1_000;

/**
 * The oldest events, as far as they happened before a moment: what remains is the log from a position on. Where another
 * process is at it nothing is deleted.
 */
const DELETE_EVENTS = prepareStatement<readonly [deletedCount: string]>(
  'delete-expired-order-events',
  `with turn as materialized (select id from order_events_deleted for update skip locked),
     oldest as materialized (select id, at from order_events order by id limit ${STEP}),
     kept as (select min(id) as id from oldest where at >= $1),
     deleted as (
       delete from order_events
       where id in (select oldest.id from oldest, kept, turn where kept.id is null or oldest.id < kept.id)
       returning id
     ), noted as (
       update order_events_deleted set through_id = greatest(through_id, (select max(id) from deleted))
       where exists (select from deleted)
     )
   select count(*) from deleted`,
);

const DELETE_KEYS = prepareStatement<readonly [deletedCount: string]>(
  'delete-expired-idempotency-keys',
  `with deleted as (
     delete from idempotency_keys where ctid = any(array(
       select ctid from idempotency_keys where remembered_at <= $1 order by remembered_at limit ${STEP}
       for update skip locked
     )) returning 1
   ) select count(*) from deleted`,
);

interface Expiry {
  readonly before: Date;
  readonly now: Date;
  readonly signal: AbortSignal;
}

export async function deleteExpired(sender: QuerySender, { before, now, signal }: Expiry): Promise<number> {
  const repeat = async (step: () => Promise<readonly (readonly [string])[]>): Promise<number> => {
    let total = 0;
    for (;;) {
      signal.throwIfAborted();
      const count = Number((await step())[0]?.[0] ?? 0);
      total += count;
      if (count < STEP) return total;
    }
  };
  await repeat(() => sender.run(DELETE_KEYS, [new Date(now.getTime() - IDEMPOTENCY_KEY_TTL_MS).toISOString()]));
  return repeat(() => sender.run(DELETE_EVENTS, [before.toISOString()]));
}
