import { createTestService, type TestService, type TestServiceOptions } from '@petstore/client/testing';
import { manualClock } from '@petstore/testing';
import { planOf } from '../../src/testing/keys-in-memory.ts';
import { restoreTestOrders } from '../../src/testing/restore-test-orders.ts';
import { importOrders, importPets } from '../http/support/orders.ts';
import { startTestApp } from '../http/support/test-app.ts';
import { createKey } from './keys.ts';

/** A service that keeps the promises, and its clock. */
export interface PromisedService extends TestService, AsyncDisposable {
  advanceClock(milliseconds: number): void;
}

type OpenOptions = Pick<TestServiceOptions, 'orders' | 'plan'>;

/** The services of which all is promised alike: that of PostgreSQL and Redis, and that for the tests of callers. */
export const PROMISED_SERVICES: readonly (readonly [
  name: string,
  open: (options?: OpenOptions) => Promise<PromisedService>,
])[] = [
  ['the server', openServer],
  ['the service for tests', openTestService],
];

async function openServer({ orders = [], plan }: OpenOptions = {}): Promise<PromisedService> {
  const clock = manualClock(new Date().toISOString());
  const app = await startTestApp({ clock });
  const { persistence } = app;
  await importOrders(persistence, restoreTestOrders(orders, clock()));
  await importPets(persistence, [{ id: 1n, name: 'Rex' }]);
  const keyOf = async (facts: Partial<Parameters<typeof createKey>[1]>) =>
    (await createKey(persistence, { ...facts, plan: planOf(plan) })).text;
  const close = async () => app[Symbol.asyncDispose]();
  return {
    fetch(input, init) {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input);
      return fetch(app.origin + pathname + search, init);
    },
    apiKey: await keyOf({ kind: 'internal' }),
    readOnlyKey: await keyOf({ readOnly: true }),
    externalKey: await keyOf({}),
    advanceClock(milliseconds) {
      clock.advance(milliseconds);
      app.advanceLimiterClock(milliseconds);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openTestService(options: OpenOptions = {}): Promise<PromisedService> {
  const clock = manualClock(new Date().toISOString());
  const service = createTestService({ ...options, now: clock });
  return {
    ...service,
    advanceClock: (milliseconds) => clock.advance(milliseconds),
    [Symbol.asyncDispose]: service.close,
  };
}
