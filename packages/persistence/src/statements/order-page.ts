import type { Order, OrderFilter, OrderPage, OrderPageRequest } from '@petstore/domain';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import type { ConnectionPools } from './pipelined-connections.ts';
import { type PreparedStatement, prepareStatement, runStatement, type StatementValue } from './pipelined-query.ts';

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
 * A statement for each combination of conditions. One statement for all of them, with parameters that may be null, would
 * get one plan for all of them.
 */
const STATEMENTS = new Map<string, PreparedStatement<OrderRow>>();

function statementFor(conditions: readonly Condition[]): PreparedStatement<OrderRow> {
  const name = ['find-orders', ...conditions.map(([part]) => part)].join('-');
  let statement = STATEMENTS.get(name);
  if (statement === undefined) {
    const where = conditions
      .map(([, condition], i) => `${i === 0 ? 'where' : 'and'} ${condition(`$${i + 2}`)} `)
      .join('');
    statement = prepareStatement(name, `select ${ORDER_COLUMNS} from orders ${where}order by id limit $1`);
    STATEMENTS.set(name, statement);
  }
  return statement;
}

/** What no index finds: the statement reads on through the orders until it has found as many as are wanted. */
const needsScan = ({ statuses, complete, shipDateFrom, shipDateTo }: OrderFilter): boolean =>
  statuses !== undefined || complete !== undefined || shipDateFrom !== undefined || shipDateTo !== undefined;

type PageSources = Pick<ConnectionPools, 'reads' | 'scans'>;

/** Reads one page, and one order more, which shows whether there is another page. */
export async function findOrders(sources: PageSources, request: OrderPageRequest): Promise<OrderPage> {
  const { limit } = request;
  const found = await readOrders(sources, request, limit + 1);
  if (found.length <= limit) return { orders: found };
  const orders = found.slice(0, limit);
  const last = orders.at(-1);
  return last === undefined ? { orders } : { orders, nextAfterId: last.id };
}

async function readOrders(
  { reads, scans }: PageSources,
  request: OrderPageRequest,
  count: number,
): Promise<readonly Order[]> {
  const conditions = conditionsOf(request);
  const values: StatementValue[] = [String(count), ...conditions.map(([, , value]) => value)];
  const rows = await runStatement(needsScan(request.filter) ? scans : reads, statementFor(conditions), values);
  return rows.map(orderOfRow);
}
