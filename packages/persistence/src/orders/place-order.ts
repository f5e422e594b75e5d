import {
  type ChangeOrigin,
  IDEMPOTENCY_KEY_TTL_MS,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  type NewOrder,
  type Order,
} from '@petstore/domain';
import { SKIP_TAKEN_IDS } from '../bulk/order-ids.ts';
import { prepareStatement, type QuerySender, type StatementValue } from '../database/statement.ts';
import { isConflict } from '../database/storage-error.ts';
import { type OrderRow, orderOfRow } from './order-rows.ts';

/** Parameters: pet, quantity, ship date, time, actor, id of the request. No row if the id that was drawn is taken. */
const PLACE = prepareStatement<OrderRow>(
  'place-order',
  `with placed as (
     insert into orders (pet_id, quantity, ship_date, status, complete, placed_at)
     values ($1, $2, $3, 'pending', false, $4)
     on conflict (id) do nothing
     returning *
   ), recorded as (
     insert into order_events (type, at, actor, request_id, order_id, pet_id, quantity, ship_date, status, complete,
       placed_at, shipped_at, completed_at, cancelled_at)
     select 'order.placed', placed_at, $5, $6, id, pet_id, quantity, ship_date, status, complete,
       placed_at, shipped_at, completed_at, cancelled_at
     from placed
   )
   select id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
   from placed`,
);

type KeyedOutcome = 'placed' | 'remembered' | 'reused' | 'expired';

/**
 * The same for a call with an idempotency key, which is remembered with its order. Further parameters: the key, the call
 * in words, and until when keys were used that are no longer remembered.
 *
 * Two calls with one key at the same time meet in the primary key, and the second one is undone as a whole.
 */
const PLACE_ONCE = prepareStatement<readonly [outcome: KeyedOutcome, ...OrderRow]>(
  'place-order-once',
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
     from placed
   )
   select 'placed', id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
   from placed
   union all
   select outcome, order_id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at,
     cancelled_at
   from used`,
);

/** Makes room for a key that is used again after it was forgotten. Parameters: actor, key, and until when it was used. */
const FORGET_KEY = prepareStatement<readonly never[]>(
  'forget-idempotency-key',
  'delete from idempotency_keys where actor = $1 and idempotency_key = $2 and remembered_at <= $3',
);

const SKIP = prepareStatement<readonly [id: string]>('skip-taken-ids', SKIP_TAKEN_IDS);

/** Ids drawn in vain before the generator is moved: most often a single one was taken. */
const DRAWS_BEFORE_SKIP = 3;

/** Ids drawn in vain, the generator having been moved in between, before something else must be the reason. */
const DRAWS_MAX = 12;

/** How often an order is placed again whose idempotency key another call has used at the same time. */
const CONFLICTS_MAX = 5;

/** An order to be placed, on whose behalf, and by which of the caller's calls. */
export interface Placement {
  readonly order: NewOrder;
  readonly origin: ChangeOrigin;
  readonly idempotencyKey: IdempotencyKey | undefined;
}

/**
 * Inserts an order under the next free id. The same call under the same idempotency key gives the order of the first one.
 *
 * @param onRecorded called with the number of events that were recorded
 * @throws IdempotencyKeyReusedError, StorageUnavailableError
 */
export async function placeOrder(
  writes: QuerySender,
  placement: Placement,
  onRecorded: (count: number) => void,
): Promise<Order> {
  let conflictCount = 0;
  for (let draws = 1; draws <= DRAWS_MAX; draws++) {
    const row = await insert(writes, placement).catch((error: unknown) => {
      if (!isConflict(error) || ++conflictCount >= CONFLICTS_MAX) throw error;
      return 'conflict' as const;
    });
    if (row === 'conflict') continue;
    if (row === undefined) {
      // The id that was drawn had been imported; after a few in a row there may be any number of them ahead.
      if (draws % DRAWS_BEFORE_SKIP === 0) await writes.run(SKIP, []);
      continue;
    }
    const [outcome, ...placed] = row;
    switch (outcome) {
      case 'placed':
        onRecorded(1);
        return orderOfRow(placed);
      case 'remembered':
        return orderOfRow(placed);
      case 'reused':
        throw new IdempotencyKeyReusedError('the idempotency key was used for another call');
      case 'expired':
        await writes.run(FORGET_KEY, [
          placement.origin.actor,
          placement.idempotencyKey ?? null,
          expiredAt(placement.order),
        ]);
        break;
      default:
        outcome satisfies never;
    }
  }
  throw new Error(`PostgreSQL inserted no order, with ${DRAWS_MAX} ids in turn: does a trigger suppress it?`);
}

async function insert(
  writes: QuerySender,
  { order, origin, idempotencyKey }: Placement,
): Promise<readonly [outcome: KeyedOutcome, ...OrderRow] | undefined> {
  const { actor, requestId = null } = origin;
  const facts = [order.petId.toString(), order.quantity.toString(), order.shipDate?.toISOString() ?? null] as const;
  const values: readonly StatementValue[] = [...facts, order.placedAt.toISOString(), actor, requestId];
  if (idempotencyKey === undefined) {
    const [row] = await writes.run(PLACE, values);
    return row && ['placed', ...row];
  }
  const call = `place ${facts.join(' ')}`;
  const [row] = await writes.run(PLACE_ONCE, [...values, idempotencyKey, call, expiredAt(order)]);
  return row;
}

/** Until when calls were made that are no longer remembered when the order is placed. */
const expiredAt = ({ placedAt }: NewOrder): string =>
  new Date(placedAt.getTime() - IDEMPOTENCY_KEY_TTL_MS).toISOString();
