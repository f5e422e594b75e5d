import { type ChangeOrigin, GENERATION_SEED_MAX } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { ADD_INSERTED, ImportedEvents } from './imported-events.ts';
import { LOCK_GENERATOR, ORDER_ID_SEQUENCE, SKIP_TAKEN_IDS } from './order-ids.ts';
import { withTransaction } from './transaction.ts';

export interface GenerateOptions {
  /** How many, 1 or more. */
  readonly count: number;
  /** A whole number from 0 to {@link GENERATION_SEED_MAX}; the same seed gives the same orders, but for their ids. */
  readonly seed: number;
  /** When they are placed. */
  readonly now: Date;
  /** On whose behalf. @default the service's */
  readonly origin?: ChangeOrigin;
  /** Called after each batch with how many there are. */
  readonly onProgress?: (insertedCount: number) => void;
  /** Called before the transaction commits; where it never is, nothing was generated. */
  readonly onCommit?: () => void;
}

const BATCH = 50_000;

/** Draws ids until so many are found that no import has taken, and makes an order for each of them. */
const INSERT_BATCH = `
  with drawn as materialized (select nextval('${ORDER_ID_SEQUENCE}') as id from generate_series(1, $1::integer)),
    free as (select id from drawn where not exists (select from orders where orders.id = drawn.id) order by id),
    inserted as (
      insert into orders (id, pet_id, quantity, ship_date, status, complete, placed_at)
      select id, 1 + floor(random() * 1000), 1 + floor(random() * 9),
        case when random() < 0.9 then
          date_trunc('milliseconds', timestamptz '2026-01-01T00:00:00Z' + random() * interval '365 days')
        end,
        'pending', false, $2::timestamptz
      from free
      on conflict (id) do nothing
      returning id
    ),
    ${ADD_INSERTED}`;

/**
 * Makes pending orders within PostgreSQL, all of them or none.
 *
 * @throws StorageUnavailableError
 */
export function generateOrders(
  servers: DatabaseServers,
  { count, seed, now, origin, onProgress, onCommit }: GenerateOptions,
): Promise<number> {
  return withTransaction(servers, async (client) => {
    await client.query(LOCK_GENERATOR); // an import beside it might want the ids that it has drawn
    const events = await ImportedEvents.begin(client);
    await client.query('select setseed($1::double precision)', [seed / (GENERATION_SEED_MAX + 1)]);
    let insertedCount = 0;
    let wasInVain = false;
    while (insertedCount < count) {
      const wanted = Math.min(BATCH, count - insertedCount);
      const { rows } = await client.query<{ count: number }>(INSERT_BATCH, [wanted, now.toISOString()]);
      const inserted = rows[0]?.count ?? 0;
      insertedCount += inserted;
      // Where ids were taken the generator was moved behind all of them.
      if (inserted === 0 && wasInVain) throw new Error('PostgreSQL inserts no order: does a trigger suppress it?');
      wasInVain = inserted === 0;
      if (inserted < wanted) await client.query(SKIP_TAKEN_IDS);
      onProgress?.(insertedCount);
    }
    await events.record(origin);
    onCommit?.();
    return { commit: true, value: insertedCount };
  });
}
