import { createAuthenticator } from '@petstore/api';
import { type Clock, type PetId, petId } from '@petstore/domain';
import { InProcessLimiter } from '@petstore/rate-limit';
import { pino } from 'pino';
import { createApp } from '../http/app.ts';
import { renderDocument } from '../http/render-document.ts';
import { EventsInMemory } from './events-in-memory.ts';
import { createInjectingFetch } from './injecting-fetch.ts';
import { createKeysInMemory, planOf } from './keys-in-memory.ts';
import { createOrdersInMemory } from './orders-in-memory.ts';
import { restoreTestOrders } from './restore-test-orders.ts';
import type { TestService, TestServiceOptions } from './test-service-types.ts';

/** In the future whenever tests run. */
const PETS_SUNSET_AT = new Date('9999-12-31T00:00:00.000Z');

/** The only pet of the catalogue. */
const PET = { id: petId(1n), name: 'Rex' };

/**
 * The orders service as it is deployed, with its routes, rules, keys, limits, errors and events, but on a store in memory:
 * without PostgreSQL, Redis and a port. The catalogue has one pet, 1. The keys are the same in each service.
 *
 * It does not keep anything, knows no other process, and has neither the pages below `/docs` nor metrics.
 *
 * @throws RangeError for an order or a limit that cannot be
 */
export function createTestService({ orders = [], now = () => new Date(), plan }: TestServiceOptions = {}): TestService {
  const clock: Clock = now;
  const keys = createKeysInMemory(planOf(plan), clock());
  const events = new EventsInMemory();
  const monotonicNowMs = () => performance.now();
  const authenticator = createAuthenticator({ apiKeys: keys.store, clock, monotonicNowMs, onBackgroundError() {} });
  const limiter = new InProcessLimiter({ nowMs: () => clock().getTime() });
  let requests = 0;
  const app = createApp({
    services: {
      orders: createOrdersInMemory(restoreTestOrders(orders, clock()), events),
      announceEvents() {},
      pets: { findPet: async (id: PetId) => (id === PET.id ? PET : undefined) },
      events,
      limiter,
      clock,
      petsSunsetAt: PETS_SUNSET_AT,
    },
    authenticator,
    limiter,
    // A fault of the service is to be seen.
    logger: pino({ level: 'error' }, { write: (line: string) => console.error(line) }),
    accessLogLevel: 'debug',
    metrics: NO_METRICS,
    renderDocument: (version) => renderDocument(version, { petsSunsetAt: PETS_SUNSET_AT }),
    reference: { respond: async () => undefined },
    siteUrl: '',
    renderSecurityText: () => undefined,
    isStorageAvailable: () => true,
    monotonicNowMs,
    newRequestId: () => `request-${++requests}`,
    corsOrigins: [],
    trustedProxies: false,
  });
  return { fetch: createInjectingFetch(app), ...keys.texts, close: () => app.close() };
}

const NO_METRICS = {
  observeRequest() {},
  observeDeprecatedUse() {},
  countError() {},
  countCut() {},
  countDecision() {},
  countRemembered() {},
};
