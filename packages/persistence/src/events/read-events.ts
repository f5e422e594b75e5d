import {
  type OrderEvent,
  type OrderEventId,
  OrderEventsExpiredError,
  type OrderEventType,
  UnknownPositionError,
} from '@petstore/domain';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { type OrderRow, orderOfRow } from '../orders/order-rows.ts';
import { parseTime } from '../time-text.ts';

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

const FIND_BOUNDS = prepareStatement<readonly [deletedThrough: string, latest: string]>(
  'find-order-event-bounds',
  'select through_id, greatest(through_id, (select max(id) from order_events)) from order_events_deleted',
);

export async function findLogBounds(sender: QuerySender): Promise<LogBounds> {
  const [[deletedThrough, latest] = ['0', '0']] = await sender.run(FIND_BOUNDS, []);
  return { deletedThrough: BigInt(deletedThrough) as OrderEventId, latest: BigInt(latest) as OrderEventId }; // ids of the log
}

/**
 * Every row repeats the log's bounds: both come from one snapshot. A page without events is one row of bounds.
 */
type PageRow = readonly [
  deletedThrough: string,
  latest: string,
  ...event: readonly [id: string, type: OrderEventType, at: string, ...OrderRow] | readonly [id: null],
];

const READ_PAGE = prepareStatement<PageRow>(
  'read-order-events',
  `select through_id, greatest(through_id, (select max(id) from order_events)), event.*
   from order_events_deleted left join lateral (
     select id, type, at, order_id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at,
       cancelled_at
     from order_events where id > $1 and id <= $2 order by id limit 1000
   ) event on true
   order by event.id`,
);

/**
 * Reads the first 1,000 committed events after a position, up to `upTo`.
 *
 * @throws UnknownPositionError if the position is beyond the latest event: from another database, or lost in a failover
 * @throws OrderEventsExpiredError if events after the position have been deleted
 */
export async function readEvents(sender: QuerySender, position: bigint, upTo: bigint): Promise<readonly OrderEvent[]> {
  const rows = await sender.run(READ_PAGE, [position.toString(), upTo.toString()]);
  const [[deletedThrough, latest] = ['0', '0']] = rows;
  if (position > BigInt(latest)) throw new UnknownPositionError(`the latest event is ${latest}`);
  if (position < BigInt(deletedThrough)) {
    throw new OrderEventsExpiredError(`events up to ${deletedThrough} have been deleted`);
  }
  return rows.flatMap((row) => {
    if (row[2] === null) return [];
    const [, , id, type, at, ...order] = row;
    return [{ id: BigInt(id) as OrderEventId, type, at: parseTime(at), order: orderOfRow(order) }]; // as it is stored
  });
}
