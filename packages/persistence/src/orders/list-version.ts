import type { OrderListVersion, OrderRepository } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { prepareStatement } from '../database/statement.ts';
import { LOCKS_OF_WRITERS } from '../events/read-events.ts';
import { coalescePerTick } from './coalesce-per-tick.ts';

/**
 * The latest event by its id, and a hash of what tells two events with this id apart. After a backup was restored, an id is
 * given again, and an event of an import again has the time that its file gives: the same file, corrected, would then name
 * another list by the name of the wrong one. But PostgreSQL was started again, or the table was made or filled anew.
 *
 * An event may be committed after one with a larger id. There is no version while such an event is possible: the locks are
 * looked at after the events, so whoever changed orders before has committed by then, or holds a lock. A standby knows no
 * locks.
 */
const FIND_VERSION = prepareStatement<{ readonly id: bigint; readonly hash: bigint }>(
  'find-order-list-version',
  `select coalesce(latest.id, through_id) as id,
     hashtextextended(
       concat_ws(' ', extract(epoch from coalesce(latest.at, through_at)), 'order_events'::regclass::oid,
         pg_relation_filenode('order_events'), extract(epoch from pg_postmaster_start_time())),
       0) & 9223372036854775807 as hash
   from order_events_deleted
     left join lateral (select id, at from order_events order by id desc limit 1) latest on true
   where not pg_is_in_recovery() and not exists (select from ${LOCKS_OF_WRITERS})`,
);

/** Calls in the same tick share a statement. */
export function createListVersions(database: Database): Pick<OrderRepository, 'findListVersion'> {
  const findVersion = coalescePerTick(
    () => 'version',
    async (): Promise<OrderListVersion | undefined> => {
      for (;;) {
        const { server } = database;
        const [row] = await database.run('reads', FIND_VERSION, []);
        // Otherwise it is not known which of the two servers answered.
        if (server === database.server) return row && { name: `${row.id}-${row.hash}`, server };
      }
    },
  );
  return { findListVersion: () => findVersion(undefined) };
}
