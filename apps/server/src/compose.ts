import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuthenticator } from '@petstore/api';
import type { ApiKeyId, Clock } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import { createReference } from '@petstore/reference';
import { claimDataFolder, readCommit } from '@petstore/runtime';
import type { Logger } from 'pino';
import type { DemoKey } from './embedded/demo-keys.ts';
import { openBackends } from './embedded/open-backends.ts';
import { seedDemo } from './embedded/seed-demo.ts';
import { createApp } from './http/app.ts';
import { DEFAULT_BOUNDS } from './http/app-options.ts';
import { renderDocument } from './http/render-document.ts';
import { openAdminListener } from './operations/admin-listener.ts';
import { openAnnouncements } from './operations/announcements.ts';
import { startEventCleanup } from './operations/event-cleanup.ts';
import { Health } from './operations/health.ts';
import {
  assertPortIsFree,
  connectionsMax,
  listenOn,
  logFailedAccepts,
  portOf,
  reachableHost,
  urlOf,
} from './operations/listen.ts';
import { Metrics } from './operations/metrics.ts';
import { openLimiter } from './operations/open-limiter.ts';
import { schemaPreparer } from './operations/prepare-schema.ts';
import { createBanRecorder } from './operations/record-bans.ts';
import { renderSecurityText } from './operations/security-text.ts';
import { printStartupMessage } from './operations/startup-message.ts';
import {
  addDatabaseMetrics,
  addEventMetrics,
  addHealthMetrics,
  addHttpMetrics,
  addLimitMetrics,
} from './operations/state-metrics.ts';
import { logChanges, logFewConnections, StorageWatch } from './operations/storage-watch.ts';
import type { Settings } from './settings.ts';
import { loadTracing } from './tracing/load-tracing.ts';

export interface RunningServer {
  /**
   * Stops the server in this order: /readyz turns 503; requests are served as before for SHUTDOWN_DELAY; requests that
   * were sent get their responses; the port closes; the connections to the databases close. Resolves when all is done.
   */
  close(): Promise<void>;
}

/** How long before the end of a shutdown requests are cut off, in milliseconds: the databases then have time to close. */
const CLOSING_MS = 3_000;

/** How long after the start MikroORM is loaded, in milliseconds: it holds requests up, and the first have waited already. */
const LOAD_ORM_AFTER_MS = 1_000;

export interface StartOptions {
  readonly logger: Logger;
  /** Whether OpenTelemetry's variables ask for spans. Its SDK reads the other variables itself. */
  readonly recordsSpans: boolean;
  /** Called when the server cannot continue after it has started. */
  readonly onFatal: (error: Error) => void;
  /** Aborts a start in progress. */
  readonly signal: AbortSignal;
}

const clock: Clock = () => new Date();
const monotonicNowMs = () => performance.now();

/**
 * Builds the whole service and starts it, from top to bottom. PostgreSQL and Redis need not be there yet: without
 * PostgreSQL the server is alive but not ready, and without Redis it counts limits itself, until they are reached.
 *
 * @throws RuntimeError for a fault that the operator can fix, in one line
 * @throws SchemaError for a database that this program must not use
 * @throws AbortError
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the whole service on one page, step after step
export async function startServer(
  settings: Settings,
  { logger, recordsSpans, onFatal, signal }: StartOptions,
): Promise<RunningServer> {
  const { host, port, dataFolder } = settings;
  // Disposes of what has been started, in reverse order: when a later step fails, or when the server is closed.
  await using resources = new AsyncDisposableStack();
  // Tracing is loaded only if spans are recorded; otherwise no request passes through it.
  if (recordsSpans) (await loadTracing()).startTracing(logger, resources);
  // Another server on the data folder may have to end first. An occupied port is detected before a database is made in vain.
  const place = settings.databaseUrl ?? resources.use(await claimDataFolder(dataFolder, signal));
  const isEmbedded = place !== settings.databaseUrl;
  if (isEmbedded) await assertPortIsFree({ host, port, setting: 'PORT' });

  // Health and metrics come first: a server that waits for PostgreSQL is alive but not ready.
  const health = new Health();
  const metrics = new Metrics({ commit: readCommit(), petsSunsetAt: settings.petsSunsetAt });
  const { registry } = metrics;
  addHealthMetrics(registry, health);
  const adminUrl = await openAdminListener(settings, { health, registry, logger }, resources);

  // Storage: orders and keys in PostgreSQL, limits in Redis.
  const backends = await openBackends(place, settings, { logger, signal }, resources);
  signal.throwIfAborted();
  const persistence = resources.use(
    openPersistence({
      databaseUrl: backends.databaseUrl,
      connections: settings.databaseConnections,
      onFewConnections: logFewConnections(logger),
      durationsOf: metrics.statementDurationsOf,
    }),
  );
  const { apiKeys, pets, events, audit, migrations, sequences } = persistence;
  const onBackgroundError = (err: unknown) => logger.error({ err }, 'a background task failed');
  const authenticator = createAuthenticator({ apiKeys, clock, monotonicNowMs, onBackgroundError });
  const onBan = createBanRecorder({ audit, clock, logger }, resources);
  const redisSettings = { ...settings, redis: backends.redis };
  const limits = openLimiter(redisSettings, { logger, metrics, clock, onBan }, resources);
  const onKeyChanged = (id: ApiKeyId) => authenticator.forget(id);
  const announce = openAnnouncements(redisSettings, { onKeyChanged, onEvents: events.wakeWaiting }, resources);
  const announceEvents = () => {
    metrics.eventsRecorded.inc();
    announce();
  };
  addLimitMetrics(registry, limits);
  const { eventsRetentionMs: retentionMs } = settings;
  addEventMetrics(registry, resources.use(startEventCleanup({ events, retentionMs, clock, logger })));
  let demoKeys: readonly DemoKey[] = []; // set before the storage is first up
  const prepareSchema = schemaPreparer({ migrations, sequences, mayMigrate: settings.migrate, logger });
  const storage = new StorageWatch({
    storage: persistence,
    async prepare() {
      await prepareSchema();
      if (isEmbedded) demoKeys = await seedDemo(persistence, { dataFolder, host, clock, logger });
    },
    onChange: logChanges(logger),
    onFatal,
  });
  resources.defer(() => storage.stop());
  addDatabaseMetrics(registry, storage, persistence);
  health.observe({ storage, limits });

  // The public listener.
  await Promise.all([storage.start(), limits.started]);
  let publicUrl = ''; // set when the port is known, before the first request for a document
  // If there are several addresses, one of them would be wrong for a caller that uses another, such as another machine.
  const hasOneAddress = reachableHost(host) === host;
  const { limiter } = limits;
  const app = createApp({
    services: {
      orders: persistence.orders,
      announceEvents,
      pets,
      events,
      limiter,
      clock,
      petsSunsetAt: settings.petsSunsetAt,
    },
    authenticator,
    limiter,
    logger,
    accessLogLevel: settings.accessLogLevel,
    metrics,
    renderDocument: (version) => renderDocument(version, settings, hasOneAddress ? publicUrl : undefined),
    // Its examples need absolute URLs.
    reference: createReference({
      documentOf: (version) => JSON.parse(renderDocument(version, settings, publicUrl).json),
    }),
    siteUrl: settings.publicBaseUrl?.replace(/\/v1$/, '') ?? '',
    renderSecurityText: () => renderSecurityText(settings, clock()),
    isStorageAvailable: () => storage.isAvailable,
    bounds: { maxConnections: connectionsMax(DEFAULT_BOUNDS.maxConnections) },
    monotonicNowMs,
    newRequestId: randomUUID,
    corsOrigins: settings.corsOrigins,
    trustedProxies: settings.trustProxy,
  });
  const { shutdownDelayMs, shutdownTimeoutMs } = settings;
  const drainMs = shutdownTimeoutMs - shutdownDelayMs;
  resources.defer(async () => {
    const cutOff = setTimeout(() => app.server.closeAllConnections(), Math.max(drainMs - CLOSING_MS, drainMs / 2));
    await app.close();
    clearTimeout(cutOff);
  });
  await listenOn(app, { host, port, setting: 'PORT' });
  addHttpMetrics(registry, app.traffic);
  logFailedAccepts(app.server, logger);
  const boundPort = portOf(app.server);
  publicUrl = urlOf(reachableHost(host), boundPort);
  const listenUrl = urlOf(host, boundPort);

  let loadingOrm: NodeJS.Timeout | undefined;
  resources.defer(() => clearTimeout(loadingOrm));
  void storage.firstUp.then(() => {
    if (!health.beginServing()) return;
    printStartupMessage({ publicUrl, listenUrl, adminUrl, ...backends.description, demoKeys }, settings, logger);
    loadingOrm = setTimeout(() => persistence.loadOrm().catch(onBackgroundError), LOAD_ORM_AFTER_MS).unref();
  });
  const running = resources.move();
  return {
    async close() {
      health.beginStopping();
      logger.info('stopping');
      app.traffic.connections.beginClosing();
      app.traffic.waitingCalls.close();
      await sleep(shutdownDelayMs);
      await running.disposeAsync();
      logger.info('stopped');
    },
  };
}
