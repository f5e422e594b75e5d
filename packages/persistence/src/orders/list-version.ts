import type { OrderListVersion, OrderRepository } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { prepareStatement } from '../database/statement.ts';
import { LOCKS_OF_WRITERS } from '../events/read-events.ts';
import { coalescePerTick } from './coalesce-per-tick.ts';

/**
 * The latest event, by its id and its time in milliseconds: an id may be given again after a backup was restored.
 *
 * An event may be committed after one with a larger id. There is no version while such an event is possible: the locks are
 * looked at after the events, so whoever changed orders before has committed by then, or holds a lock. A standby knows no
 * locks.
 */
const FIND_VERSION = prepareStatement<readonly [id: string, atMs: string | null]>(
  'find-order-list-version',
  `select coalesce(latest.id, through_id), (extract(epoch from coalesce(latest.at, through_at)) * 1000)::bigint
   from order_events_deleted
     left join lateral (select id, at from order_events order by id desc limit 1) latest on true
   where not pg_is_in_recovery() and not exists (select from ${LOCKS_OF_WRITERS})`,
);

/** Calls in the same tick share a statement. */
export function createListVersions(database: Database): Pick<OrderRepository, 'findListVersion'> {
  const reads = database.sender('reads');
  const findVersion = coalescePerTick(
    () => 'version',
    async (): Promise<OrderListVersion | undefined> => {
      for (;;) {
        const { server } = database;
        const [row] = await reads.run(FIND_VERSION, []);
        // Otherwise it is not known which of the two servers answered.
        if (server === database.server) return row && { name: row.filter((part) => part !== null).join('-'), server };
      }
    },
  );
  return { findListVersion: () => findVersion(undefined) };
}
