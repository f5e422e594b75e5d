import { type DataFolder, openEmbeddedPostgres, openEmbeddedRedis, type RedisTarget } from '@petstore/runtime';
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';

/** The places of the data and the limits. */
export interface Backends {
  readonly databaseUrl: string;
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
 * @param place DATABASE_URL; or, if that is not set, the data folder that this server has claimed
 * @throws RuntimeError, with a message of one line, if PostgreSQL cannot be started
 */
export async function openBackends(
  place: string | DataFolder,
  settings: Settings,
  options: OpenOptions,
  resources: AsyncDisposableStack,
): Promise<Backends> {
  if (typeof place === 'string') {
    const description = { database: describeDatabase(place), limits: describeLimits(settings.redis, settings) };
    return { databaseUrl: place, redis: settings.redis, description };
  }
  const databaseUrl = await openPostgres(place, options, resources);
  const redis = settings.redis ?? (await openRedis(place, options, resources));
  const description = {
    database: `embedded PostgreSQL in ${settings.dataFolder}`,
    limits: describeLimits(redis, settings),
  };
  return { databaseUrl, redis, description };
}

async function openPostgres(
  dataFolder: DataFolder,
  { logger, signal }: OpenOptions,
  resources: AsyncDisposableStack,
): Promise<string> {
  logger.info('starting the embedded PostgreSQL; the first start takes a few seconds');
  const onEnd = () =>
    logger.error('the embedded PostgreSQL was killed and is not restarted automatically: restart this server');
  const postgres = await openEmbeddedPostgres(dataFolder, onEnd, signal);
  resources.defer(() => postgres.stop());
  return postgres.url;
}

/** Without it, limits are counted in this process. */
async function openRedis(
  dataFolder: DataFolder,
  { logger, signal }: OpenOptions,
  resources: AsyncDisposableStack,
): Promise<RedisTarget | undefined> {
  try {
    const redis = await openEmbeddedRedis(dataFolder, signal);
    resources.defer(async () => redis?.stop());
    return redis?.target;
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    logger.warn({ reason }, "the machine's Redis cannot be run: limits are counted in this process");
    return undefined;
  }
}

function describeDatabase(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(databaseUrl);
  return `PostgreSQL at ${searchParams.get('host') ?? host}${pathname}`;
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
