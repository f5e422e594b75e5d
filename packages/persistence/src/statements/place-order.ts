import {
  type ChangeOrigin,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  type NewOrder,
  type Order,
} from '@petstore/domain';
import { SKIP_TAKEN_IDS } from '../bulk/order-ids.ts';
import { isConflict } from '../storage-error.ts';
import {
  FORGET_KEY,
  type KeyOutcome,
  keyOutcome,
  keysExpiredAt,
  recordEvents,
  rememberCalls,
} from './order-records.ts';
import { FACT_COLUMNS, ORDER_COLUMNS, type OrderRow, orderOfRow, REFERRED_ORDER_COLUMNS } from './order-rows.ts';
import { prepareStatement, type QuerySender, runStatement, type StatementValue } from './pipelined-query.ts';

const COLUMNS = 'pet_id, quantity, ship_date, status, complete, placed_at';
const VALUES = `$1::bigint, $2::integer, $3::timestamptz, 'pending', false, $4::timestamptz`;
const RECORDED = `recorded as (
  ${recordEvents('placed', { type: 'order.placed', at: 'placed_at', actor: '$5', requestId: '$6' })}
)`;

type PlacementRow = readonly [outcome: 'placed' | KeyOutcome, ...OrderRow];

/** Parameters: what is ordered, when, who acts, by which request. */
const PLACE = prepareStatement<PlacementRow>(
  'place-order',
  `with placed as (
     insert into orders (${COLUMNS}) values (${VALUES}) on conflict (id) do nothing returning ${ORDER_COLUMNS}
   ), ${RECORDED}
   select 'placed', ${ORDER_COLUMNS} from placed`,
);

/** Further parameters: the idempotency key, the call, and until when keys were used that are no longer remembered. */
const PLACE_ONCE = prepareStatement<PlacementRow>(
  'place-order-once',
  `with used as materialized (
     select ${keyOutcome('$8', '$9')} as outcome, ${REFERRED_ORDER_COLUMNS} from idempotency_keys
     where actor = $5 and idempotency_key = $7
   ), placed as (
     insert into orders (${COLUMNS}) select ${VALUES} where not exists (select from used)
     on conflict (id) do nothing returning ${ORDER_COLUMNS}
   ), ${RECORDED}, remembered as (
     ${rememberCalls('placed', { actor: '$5', idempotencyKey: '$7', call: '$8', at: 'placed_at' })}
   )
   select 'placed', ${ORDER_COLUMNS} from placed
   union all
   select outcome, order_id, ${FACT_COLUMNS} from used`,
);

const SKIP = prepareStatement<readonly [id: string]>('skip-taken-ids', SKIP_TAKEN_IDS);

/** Ids drawn in vain before the generator is moved: most often a single one was taken. */
const DRAWS_BEFORE_SKIP = 3;

/** Ids drawn in vain, the generator having been moved in between, before something else must be the reason. */
const DRAWS_MAX = 12;

/** How often an order is placed again whose idempotency key another call has used at the same time. */
const CONFLICTS_MAX = 5;

export interface PlacementOptions {
  readonly origin: ChangeOrigin;
  readonly idempotencyKey: IdempotencyKey | undefined;
  /** Called with the number of events recorded. */
  readonly onRecorded: (count: number) => void;
}

/** @throws IdempotencyKeyReusedError */
export async function insertOrder(
  writes: QuerySender,
  order: NewOrder,
  { origin, idempotencyKey, onRecorded }: PlacementOptions,
): Promise<Order> {
  let conflictCount = 0;
  for (let draws = 1; draws <= DRAWS_MAX; draws++) {
    const row = await place(writes, order, origin, idempotencyKey).catch((error: unknown) => {
      if (!isConflict(error) || ++conflictCount >= CONFLICTS_MAX) throw error;
      return 'conflict' as const;
    });
    if (row === 'conflict') continue;
    if (row !== undefined) {
      const [outcome, ...placed] = row;
      if (outcome === 'reused') throw new IdempotencyKeyReusedError('the idempotency key was used for another order');
      if (outcome === 'placed') onRecorded(1);
      if (outcome !== 'expired') return orderOfRow(placed);
      await runStatement(writes, FORGET_KEY, [origin.actor, idempotencyKey ?? null, keysExpiredAt(order.placedAt)]);
    } else if (draws % DRAWS_BEFORE_SKIP === 0) {
      // The id that was drawn had been imported; after a few in a row there may be any number of them ahead.
      await runStatement(writes, SKIP, []);
    }
  }
  throw new Error(`PostgreSQL inserted no order, with ${DRAWS_MAX} ids in turn: does a trigger suppress it?`);
}

async function place(
  writes: QuerySender,
  order: NewOrder,
  { actor, requestId }: ChangeOrigin,
  idempotencyKey: IdempotencyKey | undefined,
): Promise<PlacementRow | undefined> {
  const facts = [order.petId.toString(), order.quantity.toString(), order.shipDate?.toISOString() ?? null] as const;
  const values: StatementValue[] = [...facts, order.placedAt.toISOString(), actor, requestId ?? null];
  if (idempotencyKey === undefined) return (await runStatement(writes, PLACE, values))[0];
  values.push(idempotencyKey, `place ${facts.join(' ')}`, keysExpiredAt(order.placedAt));
  return (await runStatement(writes, PLACE_ONCE, values))[0];
}
