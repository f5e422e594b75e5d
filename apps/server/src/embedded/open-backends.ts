import {
  claimDataFolder,
  type DatabaseUrls,
  openEmbeddedPostgres,
  openPrivateRedis,
  prepareDataFolder,
  type RedisTarget,
} from '@petstore/runtime';
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';

/** Where the data and the limits are kept. */
export interface Backends {
  readonly databaseUrls: readonly string[];
  readonly isDatabaseEmbedded: boolean;
  /** `undefined`: there is no Redis. */
  readonly redis: RedisTarget | undefined;
  /** Both for a person to read, without a password. */
  readonly description: { readonly database: string; readonly limits: string };
}

/**
 * Finds PostgreSQL and Redis as the settings say, and starts those that they leave out. What was started ends with the
 * resources.
 *
 * @param options.signal breaks off a start that is under way
 * @throws RuntimeError, of one line, when one cannot be started
 */
export async function openBackends(
  settings: Settings,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
  resources: AsyncDisposableStack,
): Promise<Backends> {
  const { dataFolder, databaseUrls, redis, reusePort } = settings;
  const isDatabaseEmbedded = databaseUrls === undefined;
  if (isDatabaseEmbedded) {
    prepareDataFolder(dataFolder);
    const claim = claimDataFolder(dataFolder, reusePort ? 'shared' : 'exclusive');
    resources.defer(() => claim.release());
    logger.info('starting the embedded PostgreSQL; the first time this takes some seconds');
  }
  const [postgresResult, redisResult] = await Promise.allSettled([
    isDatabaseEmbedded ? openEmbeddedPostgres(dataFolder, { ...logRestarts(logger, 'PostgreSQL'), signal }) : undefined,
    redis === undefined ? openPrivateRedis(dataFolder, logRestarts(logger, 'Redis')) : undefined,
  ]);
  const results = [postgresResult, redisResult];
  const opened = results.flatMap((result) => (result.status === 'fulfilled' && result.value ? [result.value] : []));
  resources.defer(async () => void (await Promise.all(opened.map((server) => server.release()))));
  if (postgresResult.status === 'rejected') throw postgresResult.reason;
  if (redisResult.status === 'rejected') throw redisResult.reason;
  const privateRedis = redisResult.value?.address;
  return {
    databaseUrls: databaseUrls ?? [postgresResult.value?.address ?? ''],
    isDatabaseEmbedded,
    redis: redis ?? privateRedis,
    description: {
      database: isDatabaseEmbedded ? `embedded PostgreSQL in ${dataFolder}` : describeDatabase(databaseUrls),
      limits: describeLimits(redis ?? privateRedis, dataFolder),
    },
  };
}

const logRestarts = (logger: Logger, name: string) => ({
  onRestart(failure?: unknown) {
    if (failure === undefined) logger.warn(`${name} had ended, and was started again`);
    else logger.error({ err: failure }, `${name} has ended, and could not be started again yet`);
  },
});

function describeDatabase(databaseUrls: DatabaseUrls): string {
  const hosts = databaseUrls.map((text) => new URL(text)).map((url) => url.searchParams.get('host') ?? url.host);
  return `PostgreSQL at ${hosts.join(',')}${new URL(databaseUrls[0]).pathname}`;
}

function describeLimits(target: RedisTarget | undefined, dataFolder: string): string {
  switch (target?.type) {
    case undefined:
      return 'in this process (no REDIS_URL, and no redis-server or valkey-server on this machine)';
    case 'socket':
      return `private Redis, its data in ${dataFolder}`;
    case 'single':
      return `Redis at ${target.host}:${target.port}`;
    case 'cluster':
      return `Redis Cluster at ${target.nodes.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
    case 'sentinel':
      return `Redis "${target.masterName}", found by Sentinel`;
    default:
      return target satisfies never;
  }
}
