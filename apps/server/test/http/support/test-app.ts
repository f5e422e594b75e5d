import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { appRouter, createAuthenticator, petsSunset, restRoutes } from '@petstore/api';
import {
  type ApiKeyId,
  type ApiKeyKind,
  type ApiKeyStore,
  type Clock,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  type OrderRepository,
  type PetRepository,
  type Plan,
} from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import type { RateLimiter } from '@petstore/rate-limit';
import { createTestDatabase, createTestRedis } from '@petstore/testing';
import pino from 'pino';
import { afterAll } from 'vitest';
import { type App, createApp } from '../../../src/http/app.ts';
import type { AppOptions } from '../../../src/http/app-options.ts';
import { renderDocument } from '../../../src/http/render-document.ts';
import { watchAnswers } from '../../conformance/watch-answers.ts';
import { openTestLimiter } from './test-limiter.ts';

/** More than any test sends. */
const UNLIMITED: Plan = { name: 'enterprise', limits: { perMinute: 1_000_000_000, perDay: 1_000_000_000 } };

/** Ahead of us whenever the tests run. */
export const PETS_SUNSET_AT = new Date('2999-06-30T00:00:00.000Z');

export interface TestAppOptions
  extends Partial<Pick<AppOptions, 'bounds' | 'corsOrigins' | 'trustedProxies' | 'isStorageAvailable'>> {
  readonly clock?: Clock;
  readonly petsSunsetAt?: Date;
  readonly databaseUrl?: string;
  /** Puts something between the server and PostgreSQL or Redis, and tells its address. */
  readonly through?: (name: 'postgres' | 'redis', url: string) => Promise<string>;
  /** In place of the real parts, to make them fail or wait. */
  readonly wrap?: {
    readonly apiKeys?: (apiKeys: ApiKeyStore) => ApiKeyStore;
    readonly orders?: (orders: OrderRepository) => OrderRepository;
    readonly pets?: (pets: PetRepository) => PetRepository;
    readonly limiter?: (limiter: RateLimiter) => RateLimiter;
  };
}

/** A line of the log. */
interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface TestApp extends AsyncDisposable {
  readonly app: App;
  readonly port: number;
  readonly origin: string;
  readonly persistence: Persistence;
  /** An external key without any limit that matters. */
  readonly key: string;
  /** As {@link key}, for internal procedures. */
  readonly internalKey: string;
  readonly logLines: readonly LogLine[];
  readonly observed: readonly { operation: string; status: number; durationSeconds: number }[];
  readonly deprecatedUse: readonly { operation: string; keyId: ApiKeyId | undefined }[];
  /** Makes the authenticator forget what it knows. */
  forgetKey(id: ApiKeyId): void;
  /** Asks over HTTP, with the external key unless the headers say otherwise. */
  fetch(path: string, init?: RequestInit & { readonly key?: string | null }): Promise<Response>;
}

const template = {
  name: 'server',
  async prepare(databaseUrl: string) {
    await using persistence = openPersistence({ databaseUrl });
    await persistence.migrations.migrate();
  },
};

/**
 * The whole public listener, on a real PostgreSQL and a real Redis, behind a real socket. Ending it fails where an answer
 * was not as the OpenAPI document says.
 */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  await using resources = new AsyncDisposableStack();
  const { petsSunsetAt = PETS_SUNSET_AT } = options;
  const { through = (_, url) => Promise.resolve(url) } = options;
  const databaseUrl = options.databaseUrl ?? resources.use(await createTestDatabase({ template })).url;
  const redis = resources.use(await createTestRedis());
  const persistence = resources.use(openPersistence({ databaseUrl: await through('postgres', databaseUrl) }));
  const limiter = resources.use(await openTestLimiter(await through('redis', redis.url)));
  const clock = options.clock ?? (() => new Date());
  const logLines: LogLine[] = [];
  const observed: { operation: string; status: number; durationSeconds: number }[] = [];
  const deprecatedUse: { operation: string; keyId: ApiKeyId | undefined }[] = [];
  const apiKeys = options.wrap?.apiKeys?.(persistence.apiKeys) ?? persistence.apiKeys;
  const authenticator = createAuthenticator({ apiKeys, clock, onBackgroundError() {} });
  const counting = options.wrap?.limiter?.(limiter.limiter) ?? limiter.limiter;
  let origin = '';
  const app = createApp({
    router: appRouter,
    restRoutes,
    services: {
      orders: options.wrap?.orders?.(persistence.orders) ?? persistence.orders,
      pets: options.wrap?.pets?.(persistence.pets) ?? persistence.pets,
      limiter: counting,
      clock,
      sunsetOverrides: petsSunset(petsSunsetAt),
    },
    authenticator,
    limiter: counting,
    logger: pino({ level: 'debug' }, { write: (line: string) => void logLines.push(JSON.parse(line) as LogLine) }), // as pino writes it
    metrics: {
      observeRequest: (operation, status, durationSeconds) =>
        void observed.push({ operation, status, durationSeconds }),
      observeDeprecatedUse: (operation, keyId) => void deprecatedUse.push({ operation, keyId }),
    },
    renderDocument: (version) => renderDocument(version, { publicUrl: origin, petsSunsetAt }),
    isStorageAvailable: options.isStorageAvailable ?? (() => true),
    newRequestId: randomUUID,
    corsOrigins: options.corsOrigins ?? [],
    trustedProxies: options.trustedProxies ?? false,
    ...(options.bounds && { bounds: options.bounds }),
  });
  const wrong = watchAnswers(app.server);
  resources.defer(() => {
    if (wrong.length > 0) throw new Error(`Answers were not as documented:\n${wrong.join('\n')}`);
  });
  resources.defer(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo; // a TCP listener
  origin = `http://127.0.0.1:${port}`;
  const key = await createKey(persistence);
  const internalKey = await createKey(persistence, { kind: 'internal' });
  const held = resources.move();
  return {
    app,
    port,
    origin,
    persistence,
    key: key.text,
    internalKey: internalKey.text,
    logLines,
    observed,
    deprecatedUse,
    forgetKey: (id) => authenticator.forget(id),
    fetch(path, { key: ownKey = key.text, headers, ...init } = {}) {
      const all = new Headers(headers);
      if (ownKey !== null && !all.has('authorization')) all.set('authorization', `Bearer ${ownKey}`);
      return fetch(origin + path, { redirect: 'manual', ...init, headers: all });
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** An app for the tests of a file or of a group: it is ended after the last of them. */
export async function useTestApp(options?: TestAppOptions): Promise<TestApp> {
  const app = await startTestApp(options);
  afterAll(() => app[Symbol.asyncDispose]());
  return app;
}

/** For an app whose repositories fail, whatever they are asked for. */
export function failing(error: Error): TestAppOptions {
  const reject = () => Promise.reject(error);
  const fail = (): never => {
    throw error;
  };
  const orders: OrderRepository = {
    listOrders: fail,
    findOrder: reject,
    findOrders: reject,
    applyCommand: reject,
    insertOrder: reject,
  };
  return { wrap: { orders: () => orders, pets: () => ({ findPet: reject }) } };
}

export interface TestKey {
  readonly id: ApiKeyId;
  readonly text: string;
}

export async function createKey(
  { keyAdministration }: Persistence,
  { plan = UNLIMITED, kind = 'external', expiresAt }: { plan?: Plan; kind?: ApiKeyKind; expiresAt?: Date } = {},
): Promise<TestKey> {
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('test', id, randomBytes);
  await keyAdministration.createKey(
    { id, name: 'test', kind, plan, createdAt: new Date(), ...(expiresAt && { expiresAt }) },
    hashApiKeyText(text),
  );
  return { id, text };
}

/** The limits of a key that allows few requests in a minute. */
export const planOf = (perMinute: number, perDay = 1_000_000): Plan => ({
  name: 'enterprise',
  limits: { perMinute, perDay },
});
