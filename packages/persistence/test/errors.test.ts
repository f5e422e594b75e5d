import { randomBytes } from 'node:crypto';
import { orderId, StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { Database } from '../src/database/database.ts';
import type { ImportItem } from '../src/import-rows.ts';
import { withOrm } from '../src/schema/orm.ts';
import { importOrders, NOW, pendingOrder, UNKNOWN_KEY_ID, useTestStore } from './support.ts';

const store = useTestStore();

describe('PostgreSQL is not said to be unavailable', () => {
  test.each([
    ['a plain error', new Error('the file ended early')],
    ['one of the system', Object.assign(new Error('the share is gone'), { code: 'ECONNRESET' })],
  ])('when the source of an import fails with %s', async (_, error) => {
    async function* failing(): AsyncGenerator<ImportItem<ReturnType<typeof pendingOrder>>> {
      yield { line: 1, value: pendingOrder(1n) };
      throw error;
    }
    await expect(store.persistence.orders.importOrders(failing())).rejects.toBe(error);
    expect(await store.persistence.orders.countOrders()).toBe(0);
  });

  test('when our own code fails, before or after a statement of the ORM', async () => {
    const error = new Error('a defect');
    const database = new Database({ databaseUrl: store.url });
    const fail = (statement: string | undefined) =>
      withOrm(database, { statementTimeoutMs: 1_000 }, (orm) =>
        orm.em.fork().transactional(async (em) => {
          if (statement !== undefined) await em.execute(statement);
          throw error;
        }),
      );
    await expect(fail(undefined)).rejects.toBe(error);
    await expect(fail('select 1')).rejects.toBe(error);
  });

  test('when a value cannot be written or read', async () => {
    const { orders, keyAdministration } = store.persistence;
    const key = { id: UNKNOWN_KEY_ID, name: 'test', kind: 'external', readOnly: false, createdAt: NOW } as const;
    const withoutPlan = { ...key, plan: undefined as never }; // the defect
    await expect(keyAdministration.createKey(withoutPlan, randomBytes(32))).rejects.toThrow(TypeError);
    await store.query('alter table orders alter placed_at type timestamptz(6)');
    await importOrders(store, [pendingOrder(1n)]);
    await store.query(`update orders set placed_at = placed_at + interval '1 microsecond'`);
    const failure: unknown = await orders.findOrder(orderId(1n)).catch((error) => error);
    expect(failure).not.toBeInstanceOf(StorageUnavailableError);
    expect(String(failure)).toContain('not a time as this schema stores it: 2026-03-04 05:06:07.089001+00');
    expect(await orders.findOrder(orderId(2n))).toBeUndefined();
  });
});

describe('PostgreSQL is said to be unavailable', () => {
  const endOwnSession = 'select pg_terminate_backend(pg_backend_pid())';

  test('when the server ends the session of an import', async () => {
    async function* ending(): AsyncGenerator<ImportItem<ReturnType<typeof pendingOrder>>> {
      yield { line: 1, value: pendingOrder(1n) };
      await expect
        .poll(async () => {
          const { rows } = await store.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy staged%' and datname = current_database()`,
          );
          return rows.length;
        })
        .toBe(1);
      for (let i = 2n; i < 100_000n; i++) yield { line: Number(i), value: pendingOrder(i) };
    }
    await expect(store.persistence.orders.importOrders(ending())).rejects.toThrow(StorageUnavailableError);
  });

  test('when the server ends the session of the ORM, whatever statement follows', async () => {
    const database = new Database({ databaseUrl: store.url });
    const lose = (statements: readonly string[]) =>
      withOrm(database, { statementTimeoutMs: 1_000 }, (orm) =>
        orm.em.fork().transactional(async (em) => {
          for (const statement of statements) await em.execute(statement).catch(() => {});
          await em.execute('select 1');
        }),
      );
    await expect(lose([endOwnSession])).rejects.toThrow(StorageUnavailableError);
    await expect(lose([endOwnSession, 'select 1'])).rejects.toThrow(StorageUnavailableError);
  });
});
