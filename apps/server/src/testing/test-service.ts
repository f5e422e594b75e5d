import { createAuthenticator } from '@petstore/api';
import {
  type ApiKey,
  type ApiKeyId,
  type ApiKeyKind,
  type ApiKeyStore,
  type Clock,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  LIMIT_MAX,
  LIMIT_MIN,
  type PetId,
  type Plan,
  petId,
} from '@petstore/domain';
import { InProcessLimiter } from '@petstore/rate-limit';
import { pino } from 'pino';
import { createApp } from '../http/app.ts';
import { createSearchBound } from '../http/concurrency.ts';
import { renderDocument } from '../http/render-document.ts';
import { KeyWatch } from '../http/streams/key-watch.ts';
import { EventsInMemory } from './events-in-memory.ts';
import { createInjectingFetch } from './injecting-fetch.ts';
import { createOrdersInMemory } from './orders-in-memory.ts';
import { restoreTestOrders, type TestOrder } from './test-order.ts';

export interface TestServiceOptions {
  /** @default none */
  readonly orders?: readonly TestOrder[];
  /** The clock of the service, by which its limits are counted, too. @default the real time */
  readonly now?: () => Date;
  /**
   * The limits of each of the keys: those of a plan, or numbers of requests from 1 to 1,000,000,000. A test reaches
   * `{ perMinute: 1, perDay: 1 }` with its second request. @default limits that no test reaches
   */
  readonly plan?: 'free' | 'pro' | 'business' | { readonly perMinute: number; readonly perDay: number };
}

/** The service in the process of a test. */
export interface TestService {
  /** For the option `fetch` of a client: its requests go to this service, whatever its `baseUrl`. */
  readonly fetch: typeof fetch;
  /** An internal key: it may also place, ship and complete orders, and follow them. */
  readonly apiKey: string;
  /** An external key that may only read. */
  readonly readOnlyKey: string;
  /** A key as external callers have it. */
  readonly externalKey: string;
  /** Ends what is still followed. */
  close(): Promise<void>;
}

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
  const keys = createKeys(planOf(plan), clock());
  const events = new EventsInMemory();
  const authenticator = createAuthenticator({ apiKeys: keys.store, clock, onBackgroundError() {} });
  const limiter = new InProcessLimiter({ nowMs: () => clock().getTime() });
  let requests = 0;
  const app = createApp({
    services: {
      orders: createOrdersInMemory(restoreTestOrders(orders, clock()), events),
      announceEvents() {},
      beginSearch: createSearchBound(),
      pets: { findPet: async (id: PetId) => (id === PET.id ? PET : undefined) },
      events,
      limiter,
      clock,
      petsSunsetAt: PETS_SUNSET_AT,
    },
    authenticator,
    keyWatch: new KeyWatch(authenticator),
    limiter,
    // A fault of the service is to be seen.
    logger: pino({ level: 'error' }, { write: (line: string) => console.error(line) }),
    accessLogLevel: 'debug',
    metrics: NO_METRICS,
    renderDocument: (version) => renderDocument(version, { petsSunsetAt: PETS_SUNSET_AT }),
    reference: { respond: async () => undefined },
    renderSecurityText: () => undefined,
    isStorageAvailable: () => true,
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

/** @throws RangeError for limits that no key has */
export function planOf(plan: TestServiceOptions['plan']): Plan {
  if (typeof plan === 'string') return { name: plan };
  const limits = plan ?? { perMinute: LIMIT_MAX, perDay: LIMIT_MAX };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value >= LIMIT_MIN && value <= LIMIT_MAX) continue;
    throw new RangeError(`plan.${name} must be a whole number from ${LIMIT_MIN} to ${LIMIT_MAX}, not ${value}`);
  }
  return { name: 'enterprise', limits };
}

function createKeys(plan: Plan, createdAt: Date) {
  const keys = new Map<string, ApiKey>();
  const createKey = (filler: number, kind: ApiKeyKind, readOnly = false): string => {
    const bytes = (count: number) => new Uint8Array(count).fill(filler);
    const id = generateApiKeyId(bytes);
    const text = generateApiKeyText('demo', id, bytes);
    keys.set(hashText(hashApiKeyText(text)), { id, name: 'test', kind, readOnly, plan, createdAt });
    return text;
  };
  const texts = {
    apiKey: createKey(1, 'internal'),
    readOnlyKey: createKey(2, 'external', true),
    externalKey: createKey(3, 'external'),
  };
  const store: ApiKeyStore = {
    async findSecret(secretHash) {
      const key = keys.get(hashText(secretHash));
      return key && { key };
    },
    async markKeyUsed(_id: ApiKeyId) {},
  };
  return { texts, store };
}

const hashText = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
