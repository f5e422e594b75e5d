import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuthenticator, type ErrorCode } from '@petstore/api';
import {
  type ApiKeyId,
  type ApiKeyStore,
  type Clock,
  type OrderEventLog,
  type OrderRepository,
  type PetRepository,
  subjectNameOf,
} from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { connectRedis, type RateLimiter, ResilientLimiter } from '@petstore/rate-limit';
import { createReference } from '@petstore/reference';
import { createTestRedis, PATIENCE_MS } from '@petstore/testing';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { afterAll } from 'vitest';
import { addressSubject } from '../../../src/http/address.ts';
import { createApp } from '../../../src/http/app.ts';
import type { AppOptions } from '../../../src/http/app-options.ts';
import { renderDocument } from '../../../src/http/render-document.ts';
import { hideCredentials } from '../../../src/operations/hide-credentials.ts';
import type { CutReason, HttpMetrics } from '../../../src/operations/metrics.ts';
import { watchResponses } from '../../conformance/watch-responses.ts';
import { createKey, createServerDatabase, KEYS } from '../../support/database.ts';

/** In the future whenever the tests run. */
export const PETS_SUNSET_AT = new Date('2999-06-30T00:00:00.000Z');

export interface TestAppOptions
  extends Partial<Pick<AppOptions, 'bounds' | 'corsOrigins' | 'trustedProxies' | 'isStorageAvailable' | 'siteUrl'>> {
  /** Whether responses are as the document of this release says. @default true */
  readonly isOfThisRelease?: boolean;
  /** Whether keys of the tests are about to end, and responses may say so. @default false */
  readonly keysMayEnd?: boolean;
  readonly decisions?: Pick<HttpMetrics, 'countDecision' | 'countRemembered'>;
  readonly clock?: Clock;
  /** By which keys are cached, and the age of limits is measured. */
  readonly monotonicNowMs?: () => number;
  readonly petsSunsetAt?: Date;
  /** How many generated orders there are. @default 0 */
  readonly orders?: number;
  /** Of a database that is as `prepareServerDatabase` leaves it. @default a new one */
  readonly databaseUrl?: string;
  /** @default any that is free */
  readonly port?: number;
  /** Puts a proxy between the server and PostgreSQL or Redis. @returns its address */
  readonly through?: (name: 'postgres' | 'redis', url: string) => Promise<string>;
  /** Adds to the app before it listens. */
  readonly extend?: (app: FastifyInstance) => void;
  /** In place of the real parts, to make them fail or wait. */
  readonly wrap?: {
    readonly apiKeys?: (apiKeys: ApiKeyStore) => ApiKeyStore;
    readonly orders?: (orders: OrderRepository) => OrderRepository;
    readonly pets?: (pets: PetRepository) => PetRepository;
    readonly events?: (events: OrderEventLog) => OrderEventLog;
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
  readonly app: FastifyInstance;
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
  readonly errorCodes: readonly ErrorCode[];
  readonly cuts: readonly CutReason[];
  readonly limiter: RateLimiter;
  /** Moves the clock of the rate limits on. */
  advanceLimiterClock(milliseconds: number): void;
  /** Makes the authenticator forget what it knows. */
  forgetKey(id: ApiKeyId): void;
  /** Sends an HTTP request, with the external key unless the headers say otherwise. */
  fetch(path: string, init?: RequestInit & { readonly key?: string | null }): Promise<Response>;
}

/**
 * The whole public listener, on a real PostgreSQL and a real Redis, behind a real socket. Disposing of it throws where a
 * response was not as the OpenAPI document says.
 */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  await using resources = new AsyncDisposableStack();
  const { petsSunsetAt = PETS_SUNSET_AT, through = (_, url) => Promise.resolve(url) } = options;
  const databaseUrl = options.databaseUrl ?? resources.use(await createServerDatabase(options)).url;
  const redis = resources.use(await createTestRedis());
  const persistence = resources.use(
    openPersistence({ databaseUrl: await through('postgres', databaseUrl), patienceMs: PATIENCE_MS }),
  );
  const limiter = resources.use(await openTestLimiter(await through('redis', redis.url)));
  const { clock = () => new Date(), monotonicNowMs = () => performance.now() } = options;
  const log: string[] = [];
  const observed: { operation: string; status: number; durationSeconds: number }[] = [];
  const deprecatedUse: { operation: string; keyId: ApiKeyId | undefined }[] = [];
  const errorCodes: ErrorCode[] = [];
  const cuts: CutReason[] = [];
  const apiKeys = options.wrap?.apiKeys?.(persistence.apiKeys) ?? persistence.apiKeys;
  const authenticator = createAuthenticator({ apiKeys, clock, monotonicNowMs, onBackgroundError() {} });
  const counting = options.wrap?.limiter?.(limiter.limiter) ?? limiter.limiter;
  let origin = '';
  const app = createApp({
    services: {
      orders: options.wrap?.orders?.(persistence.orders) ?? persistence.orders,
      announceEvents() {},
      pets: options.wrap?.pets?.(persistence.pets) ?? persistence.pets,
      events: options.wrap?.events?.(persistence.events) ?? persistence.events,
      limiter: counting,
      clock,
      petsSunsetAt,
    },
    authenticator,
    limiter: counting,
    // As in production, where this is done to each line.
    logger: pino(
      { level: 'debug', hooks: { streamWrite: hideCredentials } },
      { write: (line: string) => void log.push(line) },
    ),
    metrics: {
      observeRequest: (operation, status, durationSeconds) =>
        void observed.push({ operation, status, durationSeconds }),
      observeDeprecatedUse: (operation, keyId) => void deprecatedUse.push({ operation, keyId }),
      countError: (code) => void errorCodes.push(code),
      countCut: (reason) => void cuts.push(reason),
      ...(options.decisions ?? { countDecision() {}, countRemembered() {} }),
    },
    accessLogLevel: 'debug',
    renderDocument: (version) => renderDocument(version, { petsSunsetAt }),
    reference: createReference({
      documentOf: (version) => JSON.parse(renderDocument(version, { petsSunsetAt }, origin).json),
    }),
    siteUrl: options.siteUrl ?? '',
    renderSecurityText: () => undefined,
    isStorageAvailable: options.isStorageAvailable ?? (() => true),
    monotonicNowMs,
    newRequestId: randomUUID,
    corsOrigins: options.corsOrigins ?? [],
    trustedProxies: options.trustedProxies ?? false,
    ...(options.bounds && { bounds: options.bounds }),
  });
  options.extend?.(app);
  const wrong = options.isOfThisRelease === false ? [] : watchResponses(app.server, options.keysMayEnd === true);
  resources.defer(() => {
    if (wrong.length > 0) throw new Error(`Responses were not as documented:\n${wrong.join('\n')}`);
  });
  resources.defer(() => app.close());
  await app.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo; // a TCP listener
  origin = `http://127.0.0.1:${port}`;
  const held = resources.move();
  return {
    app,
    port,
    origin,
    persistence,
    key: KEYS.unlimited.text,
    internalKey: KEYS.internal.text,
    get logLines() {
      return log.map((line): LogLine => JSON.parse(line));
    },
    observed,
    deprecatedUse,
    errorCodes,
    cuts,
    limiter: limiter.limiter,
    advanceLimiterClock: limiter.advanceClock,
    forgetKey: (id) => authenticator.forget(id),
    fetch(path, { key: ownKey = KEYS.unlimited.text, headers, ...init } = {}) {
      const all = new Headers(headers);
      if (ownKey !== null && !all.has('authorization')) all.set('authorization', `Bearer ${ownKey}`);
      return fetch(origin + path, { redirect: 'manual', ...init, headers: all });
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** An app for the tests of a file or of a group, which is disposed of after the last of them. */
export async function useTestApp(options?: TestAppOptions): Promise<TestApp> {
  const app = await startTestApp(options);
  afterAll(() => app[Symbol.asyncDispose]());
  return app;
}

/** More refusals at once than these are a ban of a key with the least limit. */
const REFUSALS_MAX = 250;

/** A key that had one request admitted, which is all that it may send in a minute, and then some refused. */
async function createRefusedKey(app: TestApp, refusals: number): Promise<string> {
  const limits = { perMinute: 1, perDay: 1_000_000 };
  const { id, text } = await createKey(app.persistence, { plan: { name: 'enterprise', limits } });
  const subject = { name: subjectNameOf(id), ...limits };
  const decisions = await Promise.all(Array.from({ length: 1 + refusals }, () => app.limiter.check(subject, 1)));
  if (decisions.filter(({ outcome }) => outcome === 'admitted').length !== 1) throw new Error('1 should have fit');
  return text;
}

/** Counts requests without a key for an address, as if they had been sent. */
export async function countForAddress({ limiter }: TestApp, address: string, requests: number): Promise<void> {
  const { outcome } = await limiter.check(addressSubject(address), requests);
  if (outcome !== 'admitted') throw new Error('the address should have had room');
}

/** A key whose next request is the first one to be refused with `api_key_banned`. */
export const createKeyBeforeBan = (app: TestApp): Promise<string> => createRefusedKey(app, REFUSALS_MAX);

/** A key whose next request is refused with `api_key_banned`. */
export const createBannedKey = (app: TestApp): Promise<string> => createRefusedKey(app, REFUSALS_MAX + 1);

/** An app that counts the look-ups of keys, and can make them wait. A key stays cached, however long the test takes. */
export async function startCountingApp(options: Parameters<typeof startTestApp>[0] = {}) {
  let lookUps = 0;
  let gate = Promise.resolve();
  const app = await startTestApp({
    monotonicNowMs: () => 0,
    ...options,
    wrap: {
      ...options.wrap,
      apiKeys: (apiKeys: ApiKeyStore): ApiKeyStore => ({
        async findSecret(hash) {
          lookUps++;
          await gate;
          return apiKeys.findSecret(hash);
        },
        markKeyUsed: (id, at) => apiKeys.markKeyUsed(id, at),
      }),
    },
  });
  return {
    app,
    lookUps: () => lookUps,
    /** Makes look-ups wait. @returns lets them go on */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

interface TestLimiter extends AsyncDisposable {
  readonly limiter: RateLimiter;
  /** Moves the clock of the limits on, which otherwise runs as Redis' own. */
  advanceClock(milliseconds: number): void;
}

/** The limiter that serves, counting in a real Redis. */
async function openTestLimiter(redisUrl: string): Promise<TestLimiter> {
  const { hostname: host, port, pathname } = new URL(redisUrl);
  const redis = connectRedis(
    { type: 'single', host, port: Number(port), database: Number(pathname.slice(1)), tls: false },
    { timeoutMs: PATIENCE_MS },
  );
  // The client retries attempts that take too long.
  if (redis.status !== 'ready') await new Promise<void>((resolve) => redis.once('ready', () => resolve()));
  let aheadMs = 0;
  const limiter = new ResilientLimiter({
    redis,
    nowMs: () => Date.now() + aheadMs,
    onStateChange({ countedIn, reason }) {
      if (countedIn === 'process') console.error(`the test's Redis is unavailable: ${reason}`);
    },
  });
  while (limiter.isDegraded) await sleep(1); // until then it counts in the process
  return {
    limiter,
    advanceClock: (milliseconds) => {
      aheadMs += milliseconds;
    },
    async [Symbol.asyncDispose]() {
      limiter.close();
      redis.disconnect();
    },
  };
}
