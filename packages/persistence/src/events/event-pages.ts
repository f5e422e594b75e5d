import type { OrderEvent, OrderEventId, OrderEventType } from '@petstore/domain';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { type OrderRow, orderOfRow, parseTime, REFERRED_ORDER_COLUMNS } from '../orders/order-rows.ts';

/** How many events are read at a time. */
export const EVENT_PAGE_MAX = 1_000;

type EventRow = readonly [id: string, type: OrderEventType, at: string, ...OrderRow];

/** A row without an event says only up to where the log was deleted. */
type PageRow = readonly [deletedThrough: string, ...EventRow] | readonly [deletedThrough: string, id: null];

/** One snapshot: a page after which nothing was deleted is complete. */
const READ = prepareStatement<PageRow>(
  'read-order-events',
  `select through_id, event.* from order_events_deleted left join lateral (
     select id, type, at, ${REFERRED_ORDER_COLUMNS} from order_events where id > $1 and id <= $2
     order by id limit ${EVENT_PAGE_MAX}
   ) event on true order by event.id`,
);

/** Events that follow one another in the log, and up to where it was deleted when they were read. */
export interface EventPage {
  readonly events: readonly OrderEvent[];
  readonly deletedThrough: OrderEventId;
}

/** @throws StorageUnavailableError */
export async function readEvents(sender: QuerySender, after: bigint, upTo: bigint): Promise<EventPage> {
  const rows = await sender.run(READ, [after.toString(), upTo.toString()]);
  const [first] = rows;
  if (first === undefined) throw new Error('order_events_deleted has no row');
  const events = rows.flatMap((row) => (row[1] === null ? [] : [eventOfRow(row)]));
  return { events, deletedThrough: BigInt(first[0]) as OrderEventId }; // as it is stored
}

function eventOfRow([, id, type, at, ...order]: readonly [deletedThrough: string, ...EventRow]): OrderEvent {
  return { id: BigInt(id) as OrderEventId, type, at: parseTime(at), order: orderOfRow(order) }; // as it is stored
}

const FIND_LATEST = prepareStatement<readonly [id: string]>(
  'find-latest-order-event',
  `select greatest(through_id, (select id from order_events order by id desc limit 1)) from order_events_deleted`,
);

/** The largest id of an event that was committed, or was deleted since; 0 where there has been none. */
export async function findLatestEvent(sender: QuerySender): Promise<OrderEventId> {
  const [row] = await sender.run(FIND_LATEST, []);
  if (row === undefined) throw new Error('order_events_deleted has no row');
  return BigInt(row[0]) as OrderEventId; // as it is stored
}

/** Transactions that have written events, or may: they hold this lock from before an id is drawn until they have ended. */
const FIND_WRITERS = prepareStatement<readonly [transaction: string]>(
  'find-order-event-writers',
  `select virtualtransaction from pg_locks
   where relation = 'order_events'::regclass and mode = 'RowExclusiveLock' and granted
     and database = (select oid from pg_database where datname = current_database())`,
);

export async function findWriters(sender: QuerySender): Promise<ReadonlySet<string>> {
  return new Set((await sender.run(FIND_WRITERS, [])).map(([transaction]) => transaction));
}
