import { petId } from '@petstore/domain';
import pg from 'pg';
import { expect, test } from 'vitest';
import { setSession, shortSession } from '../src/database/connection.ts';
import { TIMEOUTS_MS } from '../src/database/timeouts.ts';
import { APPLY_COMMANDS } from '../src/orders/apply-commands.ts';
import { importOrders, pendingOrder, shippedOrder, useTestStore } from './support.ts';

const store = useTestStore();

/** A node of a plan, as EXPLAIN describes it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'TID Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** How the plan of the prepared statement reads orders, for so many commands. */
async function readsOfOrders(client: pg.Client, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, i) => i + 1);
  const arrayOf = (value: string) => `array[${ids.map(() => `'${value}'`).join()}]`;
  const values = [
    `'{${ids.join()}}'`,
    arrayOf('cancel'),
    arrayOf('2026-07-08Z'),
    arrayOf('service'),
    arrayOf('request'),
  ];
  const casts = ['bigint', 'text', 'timestamptz', 'text', 'text'].map((type, i) => `${values[i]}::${type}[]`);
  const { rows } = await client.query<{ readonly 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
    `explain (format json) execute apply (${casts.join()})`,
  );
  const [{ Plan: plan }] = rows[0]?.['QUERY PLAN'] ?? expect.unreachable('EXPLAIN gives one row');
  return nodesOf(plan)
    .filter((node) => node['Relation Name'] === 'orders' && node['Node Type'] !== 'ModifyTable')
    .map(
      (node) => `${node['Node Type']} ${node['Index Name'] ?? ''} ${node['Index Cond'] ?? node['TID Cond'] ?? 'all'}`,
    );
}

test('commands look each order up by its id, however many there were when the statement was prepared', async () => {
  const byId = [
    expect.stringMatching(/^Index Scan orders_pkey \(id = /),
    expect.stringMatching(/^Index Scan orders_pkey \(id = /),
    expect.stringMatching(/^Tid Scan {2}\(ctid = /),
  ];
  const states: readonly (() => Promise<unknown>)[] = [
    async () => {}, // no order
    // Few: reading all of them costs less than two look-ups.
    async () => {
      await importOrders(store, [pendingOrder(1n), { ...shippedOrder(2n), petId: petId(8n) }]);
      await store.query('vacuum analyze orders');
    },
    // A million, for the planner: it multiplies rows per page by the size of the file. A scan of the file would even seem
    // cheaper than among a million rows that exist.
    () => store.query(`update pg_class set reltuples = 1000000, relpages = 1 where oid = 'orders'::regclass`),
  ];
  for (const fill of states) {
    await fill();
    const client = new pg.Client(store.url);
    await client.connect();
    try {
      await setSession(client, shortSession, TIMEOUTS_MS);
      await client.query(`prepare apply as ${APPLY_COMMANDS.text}`);
      for (const count of [1, 64]) expect(await readsOfOrders(client, count)).toEqual(byId);
    } finally {
      await client.end();
    }
  }
});
