import {
  type ChangeOrigin,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  type NewOrder,
  type OrderPlacement,
  StorageUnavailableError,
} from '@petstore/domain';
import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { isConflict } from '../database/storage-error.ts';
import { expiredThrough } from '../delete-expired.ts';
import { SKIP_TAKEN_IDS } from './order-ids.ts';
import { type OrderRow, orderOfRow } from './order-rows.ts';

/**
 * `remembered`: the same call has already placed an order under this idempotency key. `reused`: another call has.
 * `expired`: a call has that is no longer remembered.
 */
type PlaceOutcome = 'placed' | 'remembered' | 'reused' | 'expired';

/**
 * Parameters: pet, quantity, ship date, time, actor, id of the request, idempotency key or null, a text of the call, and
 * the latest time of expired keys. Returns no row if the id that was drawn is in use.
 *
 * Two concurrent calls with one key conflict in the primary key of the keys, and the second one is rolled back as a whole.
 */
const PLACE = prepareStatement<readonly [outcome: PlaceOutcome, ...OrderRow]>(
  'place-order',
  `with used as materialized (
     select case when remembered_at <= $9 then 'expired' when call = $8 then 'remembered' else 'reused' end as outcome,
       order_id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
     from idempotency_keys where actor = $5 and idempotency_key = $7
   ), placed as (
     insert into orders (pet_id, quantity, ship_date, status, complete, placed_at)
     select $1::bigint, $2::integer, $3::timestamptz, 'pending', false, $4::timestamptz
     where not exists (select from used)
     on conflict (id) do nothing
     returning *
   ), recorded as (
     insert into order_events (type, at, actor, request_id, order_id, pet_id, quantity, ship_date, status, complete,
       placed_at, shipped_at, completed_at, cancelled_at)
     select 'order.placed', placed_at, $5, $6, id, pet_id, quantity, ship_date, status, complete,
       placed_at, shipped_at, completed_at, cancelled_at
     from placed
   ), remembered as (
     insert into idempotency_keys (actor, idempotency_key, call, remembered_at, order_id, pet_id, quantity, ship_date,
       status, complete, placed_at, shipped_at, completed_at, cancelled_at)
     select $5, $7, $8, placed_at, id, pet_id, quantity, ship_date,
       status, complete, placed_at, shipped_at, completed_at, cancelled_at
     from placed where $7 is not null
   )
   select 'placed', id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
   from placed
   union all
   select outcome, order_id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at,
     cancelled_at
   from used`,
);

/** Deletes an expired key before it is used again. */
const DELETE_EXPIRED_KEY = prepareStatement<readonly never[]>(
  'delete-expired-idempotency-key',
  'delete from idempotency_keys where actor = $1 and idempotency_key = $2 and remembered_at <= $3',
);

const SKIP = prepareStatement<readonly [movedTo: string | null]>('skip-taken-ids', SKIP_TAKEN_IDS);

/** The number of used ids drawn before the sequence is moved: usually only one is in use. */
const DRAWS_BEFORE_SKIP = 3;

/** The number of used ids drawn, although the sequence was moved, before placing fails. */
const DRAWS_MAX = 12;

/** How often placing is repeated if another call has used the idempotency key at the same time. */
const CONFLICTS_MAX = 5;

/** An order to be placed, with its author and its idempotency key. */
export interface Placement {
  readonly order: NewOrder;
  readonly origin: ChangeOrigin;
  readonly idempotencyKey: IdempotencyKey | undefined;
}

/**
 * Inserts an order under the next free id. Repeating a call with its idempotency key returns the order of the first call.
 *
 * @throws IdempotencyKeyReusedError
 * @throws StorageUnavailableError also if the next ids are in use, and an import or a generation is in progress
 */
export async function placeOrder(writes: QuerySender, placement: Placement): Promise<OrderPlacement> {
  let conflictCount = 0;
  let isSequenceHeld = false;
  for (let draws = 1; draws <= DRAWS_MAX; draws++) {
    const row = await insert(writes, placement).catch((error: unknown) => {
      if (!isConflict(error) || ++conflictCount >= CONFLICTS_MAX) throw error;
      return 'conflict' as const;
    });
    if (row === 'conflict') continue;
    if (row === undefined) {
      // After a few ids in use, there may be any number of further ones.
      if (draws % DRAWS_BEFORE_SKIP === 0) isSequenceHeld = await skipTakenIds(writes);
      continue;
    }
    const [outcome, ...order] = row;
    switch (outcome) {
      case 'placed':
        return { placed: true, order: orderOfRow(order) };
      case 'remembered':
        return { placed: false, order: orderOfRow(order) };
      case 'reused':
        throw new IdempotencyKeyReusedError('the idempotency key was used for another call');
      case 'expired':
        await deleteExpiredKey(writes, placement);
        break;
      default:
        outcome satisfies never;
    }
  }
  if (isSequenceHeld)
    throw new StorageUnavailableError('An import or a generation of orders holds the sequence of ids.');
  throw new Error(`PostgreSQL inserted no order, with ${DRAWS_MAX} ids in turn: does a trigger suppress it?`);
}

/** @returns whether an import or a generation holds the sequence, which then was not moved */
async function skipTakenIds(writes: QuerySender): Promise<boolean> {
  const [row] = await writes.run(SKIP, [ADVISORY_LOCKS.orderIds]);
  return row !== undefined && row[0] === null;
}

async function deleteExpiredKey(writes: QuerySender, { order, origin, idempotencyKey }: Placement) {
  await writes.run(DELETE_EXPIRED_KEY, [origin.actor, idempotencyKey ?? null, expiredThrough(order.placedAt)]);
}

async function insert(writes: QuerySender, { order, origin, idempotencyKey }: Placement) {
  const { actor, requestId = null } = origin;
  const facts = [order.petId.toString(), order.quantity.toString(), order.shipDate?.toISOString() ?? null] as const;
  const call = `place ${facts.join(' ')}`;
  const [row] = await writes.run(PLACE, [
    ...facts,
    order.placedAt.toISOString(),
    actor,
    requestId,
    idempotencyKey ?? null,
    call,
    expiredThrough(order.placedAt),
  ]);
  return row;
}
