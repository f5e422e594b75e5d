import {
  type OrderEvent,
  type OrderEventId,
  OrderEventsExpiredError,
  type OrderEventType,
  UnknownPositionError,
} from '@petstore/domain';
import { type OrderRow, orderOfRow, parseTime } from '../statements/order-rows.ts';
import { prepareStatement, type QuerySender, runStatement } from '../statements/pipelined-query.ts';

type EventRow = readonly [id: string, type: OrderEventType, at: string, ...OrderRow];
/** If the page is empty there is one row, without an event. */
type PageRow = readonly [deletedThrough: string, latest: string, ...EventRow] | readonly [string, string, id: null];

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

/** A part of the log and the log's bounds, as they were at one moment. */
export interface EventPage {
  /** Ascending by id. */
  readonly events: readonly OrderEvent[];
  /** Events up to here have been deleted; 0 if none was. */
  readonly deletedThrough: OrderEventId;
  /** The largest id of an event that was committed, even if it was deleted since; 0 if there has been none. */
  readonly latest: OrderEventId;
}

/**
 * Reads at most 1,000 events behind `after`, none of them behind `upTo`.
 *
 * @throws StorageUnavailableError
 */
export async function readPage(sender: QuerySender, after: bigint, upTo: bigint): Promise<EventPage> {
  const rows = await runStatement(sender, READ_PAGE, [after.toString(), upTo.toString()]);
  const [first] = rows;
  if (first === undefined) throw new Error('order_events_deleted has no row');
  return {
    events: rows.flatMap((row) => (row[2] === null ? [] : [eventOfRow(row)])),
    deletedThrough: BigInt(first[0]) as OrderEventId, // as it is stored
    latest: BigInt(first[1]) as OrderEventId, // as it is stored
  };
}

function eventOfRow([, , id, type, at, ...order]: readonly [string, string, ...EventRow]): OrderEvent {
  return { id: BigInt(id) as OrderEventId, type, at: parseTime(at), order: orderOfRow(order) }; // as it is stored
}

/**
 * Says why a reader at a position could miss events, if it could.
 *
 * @throws UnknownPositionError if the position is beyond the latest event
 * @throws OrderEventsExpiredError if events behind the position have been deleted
 */
export function assertKept(position: bigint, { deletedThrough, latest }: EventPage): void {
  if (position > latest) throw new UnknownPositionError(`the latest event is ${latest}`);
  if (position < deletedThrough) throw new OrderEventsExpiredError(`events up to ${deletedThrough} have been deleted`);
}

/** Reads like {@link readPage}, and throws like {@link assertKept}. */
export async function readEvents(sender: QuerySender, after: bigint, upTo: bigint): Promise<readonly OrderEvent[]> {
  const page = await readPage(sender, after, upTo);
  assertKept(after, page);
  return page.events;
}
