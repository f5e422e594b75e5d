import type { OrderFilter, OrderPage, OrderPageRequest } from '@petstore/domain';
import { type PreparedStatement, prepareStatement, type QuerySender } from '../database/statement.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';

/** What a page may depend on, each as a condition and its value; `matchesFilter` in SQL. */
type Condition = readonly [name: string, condition: (place: string) => string, value: string];

function conditionsOf({ filter, afterId }: Pick<OrderPageRequest, 'filter' | 'afterId'>): readonly Condition[] {
  const { statuses, petId, complete, shipDateFrom, shipDateTo }: OrderFilter = filter;
  const conditions: Condition[] = [];
  if (afterId !== undefined) conditions.push(['after', (place) => `id > ${place}`, afterId.toString()]);
  if (petId !== undefined) conditions.push(['pet', (place) => `pet_id = ${place}`, petId.toString()]);
  // The statuses are ours, and hold nothing that an array's text would have to quote.
  if (statuses !== undefined) conditions.push(['status', (place) => `status = any (${place})`, `{${statuses}}`]);
  if (complete !== undefined) conditions.push(['complete', (place) => `complete = ${place}`, String(complete)]);
  if (shipDateFrom !== undefined)
    conditions.push(['from', (place) => `ship_date >= ${place}`, shipDateFrom.toISOString()]);
  if (shipDateTo !== undefined) conditions.push(['to', (place) => `ship_date < ${place}`, shipDateTo.toISOString()]);
  return conditions;
}

/**
 * The statement for a combination of conditions. A single statement for all of them, with parameters that may be null,
 * would have a single plan, which no index serves.
 */
function statementFor(conditions: readonly Condition[]): PreparedStatement<OrderRow> {
  const name = ['find-orders', ...conditions.map(([part]) => part)].join('-');
  const where = conditions
    .map(([, condition], i) => `${i === 0 ? 'where' : 'and'} ${condition(`$${i + 2}`)} `)
    .join('');
  return prepareStatement(name, `select ${ORDER_COLUMNS} from orders ${where}order by id limit $1`);
}

/** No index finds these: the statement reads on through the orders until it has found as many as are wanted. */
const needsScan = ({ statuses, complete, shipDateFrom, shipDateTo }: OrderFilter): boolean =>
  statuses !== undefined || complete !== undefined || shipDateFrom !== undefined || shipDateTo !== undefined;

interface PageSources {
  readonly reads: QuerySender;
  /** For statements that may read the whole table to find few orders. */
  readonly scans: QuerySender;
}

/**
 * Reads one page, and one order more, which shows whether there is another page.
 *
 * @throws StorageUnavailableError; also if a search takes longer than a statement may
 */
export async function findOrders({ reads, scans }: PageSources, request: OrderPageRequest): Promise<OrderPage> {
  const { filter, limit } = request;
  const conditions = conditionsOf(request);
  const sender = needsScan(filter) ? scans : reads;
  const values = [String(limit + 1), ...conditions.map(([, , value]) => value)];
  const found = (await sender.run(statementFor(conditions), values)).map(orderOfRow);
  if (found.length <= limit) return { orders: found };
  const orders = found.slice(0, limit);
  const last = orders.at(-1);
  return last === undefined ? { orders } : { orders, nextAfterId: last.id };
}
