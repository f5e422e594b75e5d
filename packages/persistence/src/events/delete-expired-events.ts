import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { type DeletionStep, deleteInSteps } from '../delete-in-steps.ts';

/** What remains is the log from a position on. Nothing is deleted while another process deletes. */
const DELETE_EVENTS: DeletionStep = prepareStatement(
  'delete-expired-order-events',
  `with turn as materialized (select id from order_events_deleted for update skip locked),
     oldest as materialized (select id, at from order_events order by id limit 1000),
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

/**
 * Deletes the oldest events, up to the first that happened at a moment or later.
 *
 * @returns how many were deleted
 * @throws the signal's reason
 */
export const deleteExpiredEvents = (sender: QuerySender, before: Date, signal: AbortSignal): Promise<number> =>
  deleteInSteps(sender, DELETE_EVENTS, { values: [before.toISOString()], signal });
