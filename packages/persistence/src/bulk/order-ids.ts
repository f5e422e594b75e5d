/** The generator behind `orders.id`. */
export const ORDER_ID_SEQUENCE = 'orders_id_seq';

/**
 * Moves the generator of ids to the first free one at or behind its place.
 *
 * It counts up from 1 and knows nothing of ids that were imported. An import does not move it: the largest id there is
 * may be among them. A session that draws an id which is taken runs this instead. When several do at once, one may set
 * it back a little; that costs a few draws more, and never gives an id twice.
 */
export const SKIP_TAKEN_IDS = `
  with place as (
    select case when is_called then last_value + 1 else last_value end as id from ${ORDER_ID_SEQUENCE}
  )
  select setval('${ORDER_ID_SEQUENCE}', (
    select id + 1
    from (select id, lead(id) over (order by id) - id as distance from orders where id >= (select id from place))
    where distance is null or distance > 1
    order by id limit 1
  ), false)
  where exists (select from orders where id = (select id from place))`;
