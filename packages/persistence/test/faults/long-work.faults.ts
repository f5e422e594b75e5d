import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/advisory-locks.ts';
import { NOW, newOrder, pendingOrder, useTestStore } from '../support.ts';
import { openOverProxy } from './support/over-proxy.ts';

describe('an import fails after the silence of PostgreSQL', () => {
  test.concurrent.each([
    { when: 'while it is copied', silent: 'copy staged', minMs: 25_000, maxMs: 60_000 },
    {
      when: 'while it is copied by a command',
      silent: 'copy staged',
      patienceMs: 10_000,
      minMs: 55_000,
      maxMs: 80_000,
    },
    { when: 'while it is inserted, of all connections', silent: 'insert into orders', minMs: 25_000, maxMs: 60_000 },
  ])(
    '$when',
    async ({ silent, patienceMs, minMs, maxMs }) => {
      await using network = await openOverProxy();
      await using persistence = network.open({ patienceMs });
      await persistence.ping();
      network.proxy.silence(silent, { all: silent !== 'copy staged' });
      async function* source() {
        for (let i = 1; i < 1_000; i++) yield { line: i, value: pendingOrder(BigInt(i)) };
      }
      const beganMs = performance.now();
      await expect(persistence.orders.importOrders(source())).rejects.toThrow(StorageUnavailableError);
      expect(performance.now() - beganMs).toBeGreaterThan(minMs);
      expect(performance.now() - beganMs).toBeLessThan(maxMs);
    },
    90_000,
  );
});

describe('a command that is stopped, as by Ctrl-Z,', () => {
  const store = useTestStore();
  beforeEach(() => store.clear());

  /** An import in a process of its own, which can be stopped. It says when it reads its source. */
  function startImport() {
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { openPersistence } from '${new URL('../../src/index.ts', import.meta.url)}';
         import { pendingOrder } from '${new URL('../support.ts', import.meta.url)}';
         await using persistence = openPersistence({ databaseUrl: '${store.url}' });
         async function* source() {
           for (let i = 1; i <= 100_000; i++) yield { line: i, value: pendingOrder(1_000_000n + BigInt(i)) };
         }
         const { insertedCount } = await persistence.orders.importOrders(source());
         console.log(insertedCount);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    return Object.assign(child, { [Symbol.dispose]: () => void child.kill('SIGKILL') });
  }

  const statementsOf = async (condition: string) => {
    const { rows } = await store.query(
      `select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
    );
    return rows.flat();
  };

  test('holds no lock that others need while it copies, and goes on afterwards', async () => {
    using child = startImport();
    const output = once(child.stdout, 'data');
    await expect.poll(() => statementsOf(`query like 'copy staged%' and state = 'active'`), PATIENTLY).toHaveLength(1);
    child.kill('SIGSTOP');
    const { orders, migrations } = store.persistence;
    const { order } = await orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    expect(await orders.applyCommand(order.id, 'cancel', NOW, SERVICE_ORIGIN)).toMatchObject({ applied: true });
    expect(await orders.generateOrders({ count: 1, seed: 1, now: NOW })).toBe(1);
    await migrations.assertMigrated();
    await store.query('begin; lock table orders, order_events in access exclusive mode; rollback');
    await sleep(6_000); // longer than a pause within a transaction may be
    child.kill('SIGCONT');
    expect(String(await output)).toBe('100000\n');
  }, 60_000);

  test('loses the lock that others wait for, and nothing is imported', async () => {
    await store.query(`select pg_advisory_lock(${ADVISORY_LOCKS.orderIds})`);
    using child = startImport();
    const locking = `wait_event = 'advisory'`;
    await expect.poll(() => statementsOf(locking), PATIENTLY).toHaveLength(1);
    child.kill('SIGSTOP');
    await store.query(`select pg_advisory_unlock(${ADVISORY_LOCKS.orderIds})`); // the import has it now
    const beganMs = performance.now();
    expect(await store.persistence.orders.generateOrders({ count: 1, seed: 1, now: NOW })).toBe(1);
    expect(performance.now() - beganMs).toBeGreaterThan(3_000);
    expect(performance.now() - beganMs).toBeLessThan(20_000);
    expect(await store.persistence.orders.findOrder(orderId(1_000_001n))).toBeUndefined();
  }, 60_000);
});
