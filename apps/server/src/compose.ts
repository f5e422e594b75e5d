import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { appRouter, createAuthenticator, petsSunset, restRoutes } from '@petstore/api';
import { type ApiKeyId, type Clock, SERVICE_ACTOR } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import type { DemoKey } from './embedded/demo-keys.ts';
import { openBackends } from './embedded/open-backends.ts';
import { seedDemo } from './embedded/seed-demo.ts';
import { DEFAULT_BOUNDS } from './http/app-options.ts';
import { renderDocument } from './http/render-document.ts';
import { openAdminListener } from './operations/admin-listener.ts';
import { openAnnouncements } from './operations/announcements.ts';
import { keepEventsUp } from './operations/event-upkeep.ts';
import { Health } from './operations/health.ts';
import { openLimits } from './operations/limits.ts';
import { assertPortIsFree, listenOn, logFailedAccepts, portOf, reachableHost, urlOf } from './operations/listen.ts';
import { createLogger } from './operations/logger.ts';
import { Metrics } from './operations/metrics.ts';
import { boundConnections } from './operations/open-files.ts';
import { OPERATIONS, sunsetsOf } from './operations/operation-names.ts';
import { schemaPreparer } from './operations/prepare-schema.ts';
import { reportingChanges } from './operations/reporting-changes.ts';
import { renderSecurityText } from './operations/security-text.ts';
import { logRisks, printStartupMessage } from './operations/startup-message.ts';
import { addDatabaseMetrics, addEventMetrics, addHealthMetrics, addHttpMetrics } from './operations/state-metrics.ts';
import { logChanges, StorageWatch } from './operations/storage-watch.ts';
import type { Settings } from './settings.ts';
import { loadTracing } from './tracing/load-tracing.ts';

export interface RunningServer {
  /**
   * Stops in order: /readyz turns 503; SHUTDOWN_DELAY passes, in which requests are served as before; requests that were
   * sent get their responses; the port closes, and at last the connections to the databases. Resolves when all is done.
   */
  close(): Promise<void>;
}

/** How long before the end of a shutdown requests are cut off, in milliseconds, so that the databases can be closed. */
const CLOSING_MS = 3_000;

export interface StartOptions {
  /** Whether OpenTelemetry's variables ask for spans; its SDK reads the rest of them by itself. */
  readonly recordsSpans: boolean;
  /** Called when the server cannot go on, after it has started. */
  readonly onFatal: (error: Error) => void;
  /** Breaks off a start that is under way. */
  readonly signal: AbortSignal;
}

const clock: Clock = () => new Date();

/**
 * Builds the whole service and starts it, top to bottom. Neither PostgreSQL nor Redis need be there: without the one the
 * server is alive but not ready, without the other it counts limits by itself, until they come.
 *
 * @throws RuntimeError: what the operator can fix, in one line
 * @throws SchemaError: a database that this program must not use
 * @throws AbortError
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the whole service on one page, step after step
export async function startServer(
  settings: Settings,
  { recordsSpans, onFatal, signal }: StartOptions,
): Promise<RunningServer> {
  const { host, port, reusePort, dataFolder } = settings;
  // Ends what has been started, the last first: at once if a later step fails, else when the server is closed.
  await using resources = new AsyncDisposableStack();
  const logger = await createLogger({ level: settings.logLevel, format: settings.logFormat });
  // Loaded only if spans are recorded; else nothing of it is on the way of a request.
  if (recordsSpans) (await loadTracing()).startTracing(logger, resources);
  // A port in use is noticed before an embedded database is made for nothing.
  if (settings.databaseUrls === undefined && !reusePort) await assertPortIsFree({ host, port, setting: 'PORT' });
  logRisks(settings, logger);

  // Health and metrics come first: a server that waits for PostgreSQL is alive, and not ready.
  const health = new Health();
  const sunsetOverrides = petsSunset(settings.petsSunsetAt);
  const metrics = new Metrics({ operations: OPERATIONS, sunsets: sunsetsOf(sunsetOverrides) });
  const { registry } = metrics;
  addHealthMetrics(registry, health);
  const { adminHost, adminPort } = settings;
  const adminUrl = await openAdminListener({ host: adminHost, port: adminPort, health, registry, logger }, resources);

  // Storage: orders and keys in PostgreSQL, limits in Redis.
  const backends = await openBackends(settings, { logger, signal }, resources);
  signal.throwIfAborted();
  const persistence = resources.use(
    openPersistence({ databaseUrl: backends.databaseUrls, durationsOf: metrics.statementDurationsOf }),
  );
  const { apiKeys, pets, events, audit, migrations } = persistence;
  const onBackgroundError = (err: unknown) => logger.error({ err }, 'a task in the background failed');
  const authenticator = createAuthenticator({ apiKeys, clock, onBackgroundError });
  const { instances, redisPrefix } = settings;
  const onBan = (keyId: ApiKeyId) => {
    audit.recordBan({ action: 'ban.set', at: clock(), actor: SERVICE_ACTOR, keyId }).catch(onBackgroundError);
  };
  const limitsOptions = { redisPrefix, instances, logger, metrics, clock, onBan };
  const limits = openLimits(settings.redis, limitsOptions, resources);
  const onKeyChanged = (id: ApiKeyId) => authenticator.forget(id);
  const announcementHandlers = { onKeyChanged, onEvents: events.wakeFollowers };
  const announceEvents = openAnnouncements(settings.redis, announcementHandlers, resources);
  const orders = reportingChanges(persistence.orders, () => {
    metrics.countRecordedEvent();
    announceEvents();
  });
  addEventMetrics(registry, events);
  addDatabaseMetrics(registry, persistence.load);
  const { eventsRetentionMs: retentionMs } = settings;
  resources.defer(keepEventsUp({ events, retentionMs, clock, onError: onBackgroundError }));
  let demoKeys: readonly DemoKey[] = []; // known before the storage is up for the first time
  const prepareSchema = schemaPreparer({ migrations, mayMigrate: settings.migrate, logger });
  const storage = new StorageWatch({
    storage: persistence,
    async prepare() {
      await prepareSchema();
      // With REUSE_PORT several servers may start on one data folder.
      await backends.embedded?.exclusively(async () => {
        demoKeys = await seedDemo(persistence, { dataFolder, host, clock, logger });
      });
    },
    onChange: logChanges(logger),
    onFatal,
  });
  resources.defer(() => storage.stop());
  health.observe({ storage, limits });

  // The public listener. Its code is loaded while PostgreSQL and Redis are being reached.
  const [{ createApp }] = await Promise.all([import('./http/app.ts'), storage.start(), limits.started]);
  let publicUrl = ''; // known once the port is, before the first request for a document
  // One of several addresses would be wrong for who has asked at another, such as another machine.
  const hasOneAddress = reachableHost(host) === host;
  const { limiter } = limits;
  const app = createApp({
    router: appRouter,
    restRoutes,
    services: { orders, pets, events, limiter, clock, sunsetOverrides },
    authenticator,
    limiter,
    logger,
    accessLogLevel: settings.accessLogLevel,
    metrics,
    decisions: metrics,
    bounds: { maxConnections: boundConnections(DEFAULT_BOUNDS.maxConnections, logger) },
    renderDocument: (version, place) =>
      renderDocument(version, { ...settings, ...((hasOneAddress || place === 'reference') && { publicUrl }) }),
    securityText: renderSecurityText(settings, clock()),
    isStorageAvailable: () => storage.isAvailable,
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
  await listenOn(app, { host, port, reusePort, setting: 'PORT' });
  addHttpMetrics(registry, app.load);
  logFailedAccepts(app.server, logger);
  const boundPort = portOf(app.server);
  publicUrl = urlOf(reachableHost(host), boundPort);
  const listenUrl = urlOf(host, boundPort);

  void storage.firstUp.then(() => {
    if (!health.beginServing()) return;
    printStartupMessage({ publicUrl, listenUrl, adminUrl, ...backends.description, demoKeys }, settings, logger);
  });
  const running = resources.move();
  return {
    async close() {
      health.beginStopping();
      logger.info('stopping');
      app.beginClosing();
      await sleep(shutdownDelayMs);
      await running.disposeAsync();
      logger.info('stopped');
    },
  };
}
