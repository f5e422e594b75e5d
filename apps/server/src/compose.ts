import { randomUUID } from 'node:crypto';
import { appRouter, createAuthenticator, petsSunset, restRoutes } from '@petstore/api';
import type { Clock } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import type { Settings } from '@petstore/runtime';
import type { Logger } from 'pino';
import { type Backends, openBackends } from './backends.ts';
import type { DemoKey } from './embedded/demo-keys.ts';
import { seedDemo } from './embedded/seed-demo.ts';
import type { AppOptions } from './http/app-options.ts';
import { renderDocument } from './http/render-document.ts';
import { openLimits } from './limits.ts';
import { Health } from './operations/health.ts';
import { assertPortIsFree, explainListenError, isLoopback, portOf, reachableHost, urlOf } from './operations/listen.ts';
import { createLogger } from './operations/logger.ts';
import {
  type OpenOperations,
  type OperationsSources,
  operationsOf,
  type ServingFacts,
} from './operations/operations.ts';
import { createProcessMetrics } from './operations/process-metrics.ts';
import { RequestMetrics } from './operations/request-metrics.ts';
import { noteRisks } from './operations/start-notes.ts';
import { StorageWatch } from './operations/storage-watch.ts';
import type { RunningServer } from './run-until-ended.ts';
import { prepareSchema } from './schema.ts';
import { renderSecurityText } from './security-text.ts';

export interface StartOptions {
  /** Told when the server cannot go on, after it has started. */
  readonly onFatal: (error: Error) => void;
  /** How those who run the server are answered. @default on the admin port and standard output */
  readonly operations?: OpenOperations;
  /** Which of several processes this one is; each line of its log then says so. */
  readonly processNumber?: number;
}

/** How long requests that are at work may take once the server is to end; then they are cut off. */
const DRAIN_TIMEOUT_MS = 5_000;

const clock: Clock = () => new Date();

/**
 * Builds the server of its parts and starts it. Neither PostgreSQL nor Redis need be there: without the one the server
 * is alive but not ready, without the other it counts limits by itself, until they come.
 *
 * @throws RuntimeError: what a person can mend, in one line
 */
export async function startServer(settings: Settings, options: StartOptions): Promise<RunningServer> {
  const { onFatal, operations = operationsOf(settings), processNumber } = options;
  // Ends what has been started, the last first: at once where a later step fails, else when the server is closed.
  await using resources = new AsyncDisposableStack();
  const logger = await createLogger({ level: settings.logLevel, format: settings.logFormat, processNumber });
  if (settings.databaseUrl === undefined) {
    await assertPortIsFree({ host: settings.host, port: settings.port, setting: 'PORT' });
  }
  if (processNumber === undefined) noteRisks(settings, logger);
  const health = new Health();
  const metrics = new RequestMetrics();
  const processMetrics = createProcessMetrics(health);
  const sources: OperationsSources = {
    readiness: () => health.report(),
    metrics: async () => metrics.render() + (await processMetrics()),
    logger,
  };
  const announce = await operations(sources, resources);
  const backends = await openBackends(settings, logger);
  resources.defer(() => backends.release());
  const core = openCore(settings, backends, { logger, health, onFatal }, resources);
  const listener = await openPublicListener(settings, core, { logger, metrics }, resources);
  const running = resources.move();
  let isClosing = false;
  void core.whenAvailable.then((demoKeys) => {
    if (isClosing) return;
    health.beginServing();
    announce({ ...listener, ...backends.description, demoKeys });
  });
  return {
    async close() {
      isClosing = true;
      health.beginStopping();
      logger.info('stopping');
      await running.disposeAsync();
      logger.info('stopped');
    },
  };
}

/** What stands behind the public listener. */
interface Core {
  readonly services: AppOptions['services'];
  readonly authenticator: AppOptions['authenticator'];
  readonly limiter: AppOptions['limiter'];
  readonly storage: StorageWatch;
  /** Done when PostgreSQL and Redis have been looked at once. @throws what no waiting can heal */
  readonly firstLook: Promise<unknown>;
  /** Done when PostgreSQL can be used for the first time. */
  readonly whenAvailable: Promise<readonly DemoKey[]>;
}

interface CoreParts {
  readonly logger: Logger;
  readonly health: Health;
  readonly onFatal: (error: Error) => void;
}

function openCore(
  settings: Settings,
  { databaseUrl, redis, isDatabaseEmbedded }: Backends,
  { logger, health, onFatal }: CoreParts,
  resources: AsyncDisposableStack,
): Core {
  const persistence = resources.use(openPersistence({ databaseUrl }));
  const { apiKeys, orders, pets, migrations } = persistence;
  const onBackgroundError = (err: unknown) => logger.error({ err }, 'a task in the background failed');
  const authenticator = createAuthenticator({ apiKeys, clock, onBackgroundError });
  const limits = openLimits(redis, {
    instances: settings.instances,
    logger,
    onKeyChanged: (id) => authenticator.forget(id),
  });
  resources.defer(() => limits.close());
  const available = Promise.withResolvers<readonly DemoKey[]>();
  let demoKeys: readonly DemoKey[] = [];
  let wasAway = false;
  const fatal = Promise.withResolvers<never>();
  const storage = new StorageWatch({
    ping: () => persistence.ping(),
    async prepare() {
      const applied = await prepareSchema(migrations, settings.migrate);
      if (applied.length > 0) logger.info({ applied }, 'the database was migrated');
      if (!isDatabaseEmbedded) return;
      const { dataFolder, host } = settings;
      const demo = await seedDemo(persistence, { dataFolder, clock, isLoopback: isLoopback(host) });
      demoKeys = demo.keys;
      if (demo.revoked.length > 0) {
        logger.warn({ host, keys: demo.revoked }, 'the demo keys were revoked: others can reach HOST');
      }
    },
    onChange(isAvailable, reason) {
      if (!isAvailable) {
        wasAway = true;
        logger.warn({ reason: reason?.message }, 'PostgreSQL is away; waiting for it');
        return;
      }
      if (wasAway) logger.info('PostgreSQL is back');
      available.resolve(demoKeys);
    },
    onFatal(error) {
      fatal.reject(error);
      onFatal(error instanceof Error ? error : new Error(String(error)));
    },
  });
  resources.defer(() => storage.stop());
  health.observe({ storage, limitsMode: limits.mode, limitsModeChanges: limits.modeChanges });
  const firstLook = Promise.all([Promise.race([storage.start(), fatal.promise]), limits.started]);
  firstLook.catch(() => {}); // whoever awaits it is told
  const services = { orders, pets, limiter: limits.limiter, clock, sunsetOverrides: petsSunset(settings.petsSunsetAt) };
  return { services, authenticator, limiter: limits.limiter, storage, firstLook, whenAvailable: available.promise };
}

async function openPublicListener(
  settings: Settings,
  { services, authenticator, limiter, storage, firstLook }: Core,
  { logger, metrics }: Pick<AppOptions, 'logger' | 'metrics'>,
  resources: AsyncDisposableStack,
): Promise<Pick<ServingFacts, 'publicUrl' | 'listenUrl'>> {
  const { host, port, corsOrigins, trustProxy } = settings;
  let publicUrl = '';
  // Loaded while PostgreSQL and Redis are being reached.
  const { createApp } = await import('./http/app.ts');
  const app = createApp({
    router: appRouter,
    restRoutes,
    services,
    authenticator,
    limiter,
    logger,
    metrics,
    renderDocument: (version) => renderDocument(version, { ...settings, publicUrl }),
    securityText: renderSecurityText(settings, clock()),
    isStorageAvailable: () => storage.isAvailable,
    newRequestId: randomUUID,
    corsOrigins,
    trustedProxies: trustProxy,
  });
  resources.defer(async () => {
    const cutOff = setTimeout(() => app.server.closeAllConnections(), DRAIN_TIMEOUT_MS);
    await app.close();
    clearTimeout(cutOff);
  });
  await firstLook;
  await app.listen({ host, port }).catch((error: unknown) => {
    throw explainListenError(error, { host, port, setting: 'PORT' });
  });
  const boundPort = portOf(app.server);
  publicUrl = urlOf(reachableHost(host), boundPort);
  return { publicUrl, listenUrl: urlOf(host, boundPort) };
}
