import {
  type DatabaseUrls,
  type EmbeddedPostgres,
  openEmbeddedPostgres,
  openEmbeddedRedis,
  type RedisTarget,
} from '@petstore/runtime';
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';

/** The places of the data and the limits. */
export interface Backends {
  readonly databaseUrls: readonly string[];
  /** `undefined` if the settings name a database. */
  readonly embedded: EmbeddedPostgres | undefined;
  /** `undefined`: limits are counted in this process. */
  readonly redis: RedisTarget | undefined;
  /** Both are for people, and contain no password. */
  readonly description: { readonly database: string; readonly limits: string };
}

export interface OpenOptions {
  readonly logger: Logger;
  /** Aborts a start in progress. */
  readonly signal: AbortSignal;
}

/**
 * Locates PostgreSQL and Redis by the settings, or starts the embedded ones, which stop when the resources are disposed of.
 *
 * @throws RuntimeError, with a message of one line, if PostgreSQL cannot be started
 */
export async function openBackends(
  settings: Settings,
  options: OpenOptions,
  resources: AsyncDisposableStack,
): Promise<Backends> {
  // PostgreSQL comes first: it refuses a second server on its folder.
  const { databaseUrls, embedded, database } = await openPostgres(settings, options, resources);
  const redis = settings.redis ?? (settings.mayRunRedis ? await openRedis(settings, options, resources) : undefined);
  const description = { database, limits: describeLimits(redis, settings) };
  return { databaseUrls, embedded, redis, description };
}

async function openPostgres(
  { dataFolder, databaseUrls, reusePort }: Settings,
  { logger, signal }: OpenOptions,
  resources: AsyncDisposableStack,
) {
  if (databaseUrls !== undefined) {
    return { databaseUrls, embedded: undefined, database: describeDatabase(databaseUrls) };
  }
  logger.info('starting the embedded PostgreSQL; the first start takes a few seconds');
  const embedded = await openEmbeddedPostgres(dataFolder, {
    server: reusePort ? 'shared' : 'alone',
    signal,
    onEnd: () =>
      logger.error('the embedded PostgreSQL was killed and is not restarted automatically: restart this server'),
  });
  resources.defer(() => embedded.release());
  return { databaseUrls: [embedded.url], embedded, database: `embedded PostgreSQL in ${dataFolder}` };
}

/** Without it, limits are counted in this process. */
async function openRedis(
  { dataFolder, databaseUrls }: Settings,
  { logger, signal }: OpenOptions,
  resources: AsyncDisposableStack,
) {
  try {
    const embedded = await openEmbeddedRedis(dataFolder, { databaseUrls, signal });
    resources.defer(async () => embedded?.release());
    return embedded?.target;
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    logger.warn({ reason }, "the machine's Redis cannot be run: limits are counted in this process");
    return undefined;
  }
}

function describeDatabase(databaseUrls: DatabaseUrls): string {
  const hosts = databaseUrls.map((text) => new URL(text)).map((url) => url.searchParams.get('host') ?? url.host);
  return `PostgreSQL at ${hosts.join(',')}${new URL(databaseUrls[0]).pathname}`;
}

function describeLimits(target: RedisTarget | undefined, { dataFolder }: Settings): string {
  switch (target?.type) {
    case undefined:
      return 'in memory, lost when this process ends; set REDIS_URL to keep them';
    case 'single':
      return `Redis at ${target.host}:${target.port}`;
    case 'socket':
      return `this machine's Redis, for evaluation only, in ${dataFolder}`;
    case 'cluster':
      return `Redis Cluster at ${target.nodes.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
    case 'sentinel':
      return `Redis "${target.masterName}", found by Sentinel`;
    default:
      return target satisfies never;
  }
}
