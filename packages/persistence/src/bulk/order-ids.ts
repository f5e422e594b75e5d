import type pg from 'pg';
import { withTransaction } from './import-rows.ts';

// The generator of order ids counts up from 1 and knows nothing of ids that were imported. It is not moved by an import:
// the largest id there is may be among them. Whoever draws an id that is taken moves it to the next free one instead.

/** The generator behind `orders.id`. */
export const ORDER_ID_SEQUENCE = 'orders_id_seq';

/** Any number that nobody else in the database locks, next to that of the migrations. */
const ADVISORY_LOCK = '8099007544119226982';

/** Moves the generator to the first free id at or behind its place. */
export async function skipTakenOrderIds(client: pg.Client): Promise<void> {
  // One at a time: otherwise a slower one could set the generator back.
  await client.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
  await client.query(`
    with place as (
      select case when is_called then last_value + 1 else last_value end as id from ${ORDER_ID_SEQUENCE}
    )
    select setval('${ORDER_ID_SEQUENCE}', (
      select id + 1
      from (select id, lead(id) over (order by id) - id as distance from orders where id >= (select id from place))
      where distance is null or distance > 1
      order by id limit 1
    ), false)
    where exists (select from orders where id = (select id from place))
  `);
}

/** The same, in a transaction of its own. */
export const skipTakenOrderIdsAlone = (databaseUrl: string): Promise<void> =>
  withTransaction(databaseUrl, async (client) => {
    await skipTakenOrderIds(client);
    return { commit: true, value: undefined };
  });
