import type { OrderFilter, OrderPage, OrderPageRequest } from '@petstore/domain';
import {
  type PreparedStatement,
  prepareStatement,
  type QuerySender,
  type StatementValue,
} from '../database/statement.ts';
import { type OrderRow, orderOfRow } from './order-rows.ts';

/** One SQL condition with its value. Together they implement `matchesFilter`. */
interface Condition {
  readonly name: string;
  /** The SQL before the parameter. */
  readonly sql: string;
  readonly value: StatementValue;
}

function conditionsOf({ filter, afterId }: OrderPageRequest): readonly Condition[] {
  const conditions: Condition[] = [];
  const add = (name: string, sql: string, value: StatementValue | undefined): void => {
    if (value !== undefined) conditions.push({ name, sql, value });
  };
  add('after', 'id >', afterId?.toString());
  add('pet', 'pet_id =', filter.petId?.toString());
  add('status', 'status = any', filter.statuses);
  add('complete', 'complete =', filter.complete?.toString());
  add('from', 'ship_date >=', filter.shipDateFrom?.toISOString());
  add('to', 'ship_date <', filter.shipDateTo?.toISOString());
  return conditions;
}

/**
 * The statement for a combination of conditions. Each combination has its own, because a statement with optional parameters
 * has one plan for all: it could not use the index of pets, and searching a million orders by status takes a third longer.
 */
function statementFor(conditions: readonly Condition[]): PreparedStatement<OrderRow> {
  const name = ['find-orders', ...conditions.map((condition) => condition.name)].join('-');
  const where = ['true', ...conditions.map(({ sql }, i) => `${sql} ($${i + 2})`)].join(' and ');
  return prepareStatement(
    name,
    `select id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
     from orders where ${where} order by id limit $1`,
  );
}

/** Whether no index serves the filter. The statement then scans the orders by id. */
const needsScan = ({ statuses, complete, shipDateFrom, shipDateTo }: OrderFilter): boolean =>
  statuses !== undefined || complete !== undefined || shipDateFrom !== undefined || shipDateTo !== undefined;

interface PageSources {
  readonly reads: QuerySender;
  /** For statements that may read the whole table to find a few orders. */
  readonly scans: QuerySender;
}

/**
 * Reads one page and one more order, which shows whether there is another page.
 *
 * @throws StorageUnavailableError also if a search takes longer than the timeout of statements
 */
export async function findOrders({ reads, scans }: PageSources, request: OrderPageRequest): Promise<OrderPage> {
  const { filter, limit } = request;
  const conditions = conditionsOf(request);
  const sender = needsScan(filter) ? scans : reads;
  const values = [String(limit + 1), ...conditions.map(({ value }) => value)];
  const found = (await sender.run(statementFor(conditions), values)).map(orderOfRow);
  if (found.length <= limit) return { orders: found };
  const orders = found.slice(0, limit);
  const last = orders.at(-1);
  return last === undefined ? { orders } : { orders, nextAfterId: last.id };
}
