import { petId, SERVICE_ORIGIN } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, test, vi } from 'vitest';
import { startEventCleanup } from '../src/operations/event-cleanup.ts';
import { addEventMetrics } from '../src/operations/state-metrics.ts';
import { createServerDatabase } from './support/database.ts';

test('what cannot be deleted is logged, and the age of the oldest event is measured', async () => {
  await using resources = new AsyncDisposableStack();
  const { url } = resources.use(await createServerDatabase());
  const { orders, events } = resources.use(openPersistence({ databaseUrl: url, patienceMs: 3_000 }));
  const now = new Date();
  for (const ageMs of [10_000, 3_000]) {
    const placedAt = new Date(now.getTime() - ageMs);
    const order = { petId: petId(7n), quantity: 1, status: 'pending', complete: false, placedAt } as const;
    await orders.insertOrder(order, SERVICE_ORIGIN);
  }
  const locking = new pg.Client(url);
  await locking.connect();
  resources.defer(() => locking.end());
  await locking.query('begin; lock table idempotency_keys in access exclusive mode');

  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const cleanup = resources.use(startEventCleanup({ events, retentionMs: 5_000, clock: () => now, logger }));
  const registry = new Registry();
  addEventMetrics(registry, cleanup);
  await vi.waitFor(async () => {
    expect(await registry.metrics()).toContain('\npetstore_order_events_oldest_age_seconds 3\n');
  }, PATIENTLY);
  expect(await registry.metrics()).toContain('\npetstore_order_events_retention_seconds 5\n');
  expect(lines[0]).toContain('"msg":"expired idempotency keys could not be deleted"');
});
