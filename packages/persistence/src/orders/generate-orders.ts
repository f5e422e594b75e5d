import { type ChangeOrigin, GENERATION_SEED_MAX } from '@petstore/domain';
import { holdLock } from '../advisory-locks.ts';
import type { Database } from '../database/database.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { moveOrderIds } from '../sequences.ts';
import { CREATE_STAGED_ORDERS, insertStagedOrders } from './import-orders.ts';

export interface GenerateOptions {
  /** The number of orders, 1 or more. */
  readonly count: number;
  /** A whole number from 0 to {@link GENERATION_SEED_MAX}; the same seed gives the same orders, except for their ids. */
  readonly seed: number;
  /** The time at which they are placed. */
  readonly now: Date;
  /** The recorded author and request. @default the service's */
  readonly origin?: ChangeOrigin;
  /** Called after each batch with the number of orders made so far. They are inserted together at the end. */
  readonly onProgress?: (madeCount: number) => void;
  /** Called before the transaction commits; if it is never called, no order was generated. */
  readonly onCommit?: () => void;
}

const BATCH = 50_000;

/** Draws $1 ids, and makes an order for each id that is free. */
const MAKE_BATCH = `
  with drawn as materialized (select nextval('orders_id_seq') as id from generate_series(1, $1::integer))
  insert into staged (id, pet_id, quantity, ship_date, status, complete, placed_at)
  select id, 1 + floor(random() * 1000), 1 + floor(random() * 9),
    case when random() < 0.9 then
      date_trunc('milliseconds', timestamptz '2026-01-01T00:00:00Z' + random() * interval '365 days')
    end,
    'pending', false, $2::timestamptz
  from (select id from drawn where not exists (select from orders where orders.id = drawn.id) order by id) as free`;

/** See `OrderStore.generateOrders`. */
export const generateOrders = (
  database: Database,
  { count, seed, now, origin, onProgress, onCommit }: GenerateOptions,
): Promise<number> =>
  database.withLongSession((client) =>
    inTransaction(client, async () => {
      await holdLock(client, 'orderIds'); // a concurrent import might use the ids that are drawn here
      await client.query(CREATE_STAGED_ORDERS);
      await client.query('select setseed($1::double precision)', [seed / (GENERATION_SEED_MAX + 1)]);
      for (let made = 0; made < count; ) {
        const wanted = Math.min(BATCH, count - made);
        const { rowCount } = await client.query(MAKE_BATCH, [wanted, now.toISOString()]);
        made += rowCount ?? 0;
        if (rowCount !== wanted) await moveOrderIds(client);
        onProgress?.(made);
      }
      const insertedCount = await insertStagedOrders(client, origin);
      onCommit?.();
      return insertedCount;
    }),
  );
