import { DomainError, type OrderEvent, type OrderEventId, type OrderEventType } from '@petstore/domain';
import { type PreparedStatement, prepareStatement, type StatementValue } from '../database/statement.ts';
import { ORDER_FACTS, type OrderRow, orderOfRow } from '../orders/order-rows.ts';

/** Runs a statement on the log. */
export type RunOnLog = <Row extends object>(
  statement: PreparedStatement<Row>,
  values: readonly StatementValue[],
) => Promise<readonly Row[]>;

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

export const findLogBounds = async (run: RunOnLog): Promise<LogBounds> => boundsOf(await run(FIND_BOUNDS, []));

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
     from order_events where order_events.id > $1 and order_events.id <= $2 order by order_events.id limit $3
   ) event on true
   order by event_id`,
);

export interface EventRange {
  /** The position after which to read. */
  readonly after: bigint;
  readonly upTo: bigint;
  readonly limit: number;
}

/** Reads the first committed events of a range, whatever has been deleted of it, with the bounds of that moment. */
export async function readRange(
  run: RunOnLog,
  { after, upTo, limit }: EventRange,
): Promise<LogBounds & { readonly events: readonly OrderEvent[] }> {
  const rows = await run(READ_PAGE, [after.toString(), upTo.toString(), limit.toString()]);
  const events = rows.flatMap((row) =>
    row.event_id === null ? [] : [{ id: row.event_id, type: row.type, at: row.at, order: orderOfRow(row) }],
  );
  return { ...boundsOf(rows), events };
}

/**
 * @throws DomainError `unknown_position` if the position is beyond the latest event: from another database, or lost in a
 *   failover; `events_expired`
 */
export function assertWithin({ deletedThrough, latest }: LogBounds, position: bigint): void {
  if (position > latest) throw new DomainError('unknown_position', `the latest event is ${latest}`);
  if (position < deletedThrough) {
    throw new DomainError('events_expired', `events up to ${deletedThrough} have been deleted`);
  }
}
