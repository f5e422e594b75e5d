import {
  type OrderEvent,
  type OrderEventId,
  OrderEventsExpiredError,
  type OrderEventType,
  UnknownPositionError,
} from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { prepareStatement } from '../database/statement.ts';
import { ORDER_FACTS, type OrderRow, orderOfRow } from '../orders/order-rows.ts';

/**
 * The locks of the transactions that write events: each takes its lock before it draws an id and changes an order that
 * others can see, and holds it until it ends.
 */
export const LOCKS_OF_WRITERS = `
  pg_locks where relation = 'order_events'::regclass and mode = 'RowExclusiveLock' and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** The bounds of the log; both are 0 while it has had no event. */
interface LogBounds {
  /** Events up to this id have been deleted. */
  readonly deletedThrough: OrderEventId;
  /** The largest id of a committed event, even if the event was deleted since. */
  readonly latest: OrderEventId;
}

const BOUNDS = 'through_id, greatest(through_id, (select max(id) from order_events)) as latest';

interface BoundsRow {
  readonly through_id: bigint;
  readonly latest: bigint;
}

const FIND_BOUNDS = prepareStatement<BoundsRow>(
  'find-order-event-bounds',
  `select ${BOUNDS} from order_events_deleted`,
);

export async function findLogBounds(database: Database): Promise<LogBounds> {
  return boundsOf(await database.run('events', FIND_BOUNDS, []));
}

const boundsOf = ([row]: readonly BoundsRow[]): LogBounds => ({
  deletedThrough: (row?.through_id ?? 0n) as OrderEventId, // an id of the log
  latest: (row?.latest ?? 0n) as OrderEventId, // an id of the log
});

interface EventRow extends OrderRow {
  readonly event_id: OrderEventId;
  readonly type: OrderEventType;
  readonly at: Date;
}

/** Every row repeats the log's bounds: both come from one snapshot. A page without events is one row of bounds. */
type PageRow = BoundsRow & (EventRow | { readonly event_id: null });

const READ_PAGE = prepareStatement<PageRow>(
  'read-order-events',
  `select ${BOUNDS}, event.*
   from order_events_deleted left join lateral (
     select id as event_id, type, at, order_id as id, ${ORDER_FACTS}
     from order_events where order_events.id > $1 and order_events.id <= $2 order by order_events.id limit 1000
   ) event on true
   order by event_id`,
);

/**
 * Reads the first 1,000 committed events after a position, up to `upTo`.
 *
 * @throws UnknownPositionError if the position is beyond the latest event: from another database, or lost in a failover
 * @throws OrderEventsExpiredError if events after the position have been deleted
 */
export async function readEvents(database: Database, position: bigint, upTo: bigint): Promise<readonly OrderEvent[]> {
  const rows = await database.run('events', READ_PAGE, [position.toString(), upTo.toString()]);
  const { deletedThrough, latest } = boundsOf(rows);
  if (position > latest) throw new UnknownPositionError(`the latest event is ${latest}`);
  if (position < deletedThrough) {
    throw new OrderEventsExpiredError(`events up to ${deletedThrough} have been deleted`);
  }
  return rows.flatMap((row) =>
    row.event_id === null ? [] : [{ id: row.event_id, type: row.type, at: row.at, order: orderOfRow(row) }],
  );
}
