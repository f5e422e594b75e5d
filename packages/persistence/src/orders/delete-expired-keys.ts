import { IDEMPOTENCY_KEY_TTL_MS } from '@petstore/domain';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { type DeletionStep, deleteInSteps } from '../delete-in-steps.ts';

const DELETE_KEYS: DeletionStep = prepareStatement(
  'delete-expired-idempotency-keys',
  `with expired as (
     select actor, idempotency_key from idempotency_keys where remembered_at <= $1
     order by remembered_at limit 1000 for update skip locked
   ), deleted as (
     delete from idempotency_keys using expired
     where idempotency_keys.actor = expired.actor and idempotency_keys.idempotency_key = expired.idempotency_key
     returning 1
   )
   select count(*) from deleted`,
);

/**
 * Deletes the idempotency keys that are no longer remembered.
 *
 * @throws the signal's reason
 */
export async function deleteExpiredKeys(sender: QuerySender, now: Date, signal: AbortSignal): Promise<void> {
  await deleteInSteps(sender, DELETE_KEYS, { values: [expiredThrough(now)], signal });
}

/** The latest time at which keys were remembered that have expired by now, as a parameter. */
export const expiredThrough = (now: Date): string => new Date(now.getTime() - IDEMPOTENCY_KEY_TTL_MS).toISOString();
