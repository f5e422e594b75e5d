import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useTestStore } from './support.ts';

const store = useTestStore();

/** The rows that statements have read in a table, as PostgreSQL counts them when their sessions have ended. */
async function readCount(table: string): Promise<number> {
  await sleep(100);
  const { rows } = await store.query(
    `select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables where relname = $1`,
    [table],
  );
  return Number(rows[0]?.[0]);
}

test('the newest entries are read from the ends of their tables, and no more of them than are shown', async () => {
  await store.query(`insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
    select 'order.placed', timestamptz '2026-01-01Z' + i * interval '1 s', 'service', i, 1, 1, 'pending', false, now()
    from generate_series(1, 20000) i`);
  await store.query(`insert into key_events (action, at, actor, key_id)
    select 'ban.set', timestamptz '2026-01-01Z' + i * interval '1000 s', 'service', 'abcdefgh' from generate_series(1, 20) i`);
  await store.query('analyze');
  const before = await readCount('order_events');
  const entries = await store.persistence.audit.read({ limit: 10 });
  expect(entries.map(({ action, orderId }) => [action, orderId])).toEqual([
    ['order.placed', 20_000n],
    ['ban.set', undefined],
    ...Array.from({ length: 8 }, (_, i) => ['order.placed', 19_999n - BigInt(i)]),
  ]);
  expect((await readCount('order_events')) - before).toBeLessThanOrEqual(10);
});
