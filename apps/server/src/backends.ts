import {
  claimDataFolder,
  type EmbeddedServer,
  openEmbeddedPostgres,
  openPrivateRedis,
  prepareDataFolder,
  type RedisTarget,
  type Settings,
  type SocketRedis,
} from '@petstore/runtime';
import type { Logger } from 'pino';

/** Where the data and the limits are kept. */
export interface Backends {
  readonly databaseUrl: string;
  readonly isDatabaseEmbedded: boolean;
  /** Left out: there is no Redis. */
  readonly redis?: RedisTarget;
  /** Both for a person to read, without a password. */
  readonly description: { readonly database: string; readonly limits: string };
  /** Ends what was started for us. */
  release(): Promise<void>;
}

/**
 * Finds PostgreSQL and Redis as the settings say, and starts those that they leave out.
 *
 * @throws RuntimeError, of one line, when one cannot be started
 */
export async function openBackends(settings: Settings, logger: Logger): Promise<Backends> {
  const { dataFolder, databaseUrl, redis } = settings;
  if (databaseUrl === undefined) prepareDataFolder(dataFolder);
  // Whoever has the database has the folder; processes that share another database may share our Redis too.
  const claim = databaseUrl === undefined ? claimDataFolder(dataFolder) : undefined;
  const results = await Promise.allSettled([
    databaseUrl === undefined ? openEmbeddedPostgres(dataFolder, tellRestarts(logger, 'PostgreSQL')) : undefined,
    redis === undefined ? openPrivateRedis(dataFolder, tellRestarts(logger, 'Redis')) : undefined,
  ]);
  const [postgresResult, redisResult] = results;
  const servers = results.flatMap((result) => (result.status === 'fulfilled' && result.value ? [result.value] : []));
  const release = async () => {
    await Promise.all(servers.map((server) => server.release()));
    claim?.release();
  };
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) {
    await release();
    throw failure.reason;
  }
  const embedded = postgresResult.status === 'fulfilled' ? postgresResult.value : undefined;
  const privateRedis = redisResult.status === 'fulfilled' ? redisResult.value : undefined;
  return describe(settings, embedded, privateRedis, release);
}

function describe(
  { dataFolder, databaseUrl, redis }: Settings,
  embedded: EmbeddedServer<string> | undefined,
  privateRedis: EmbeddedServer<SocketRedis> | undefined,
  release: () => Promise<void>,
): Backends {
  const target = redis ?? privateRedis?.address;
  const limits = redis === undefined ? describePrivateRedis(privateRedis, dataFolder) : describeRedis(redis);
  return {
    databaseUrl: embedded?.address ?? databaseUrl ?? '',
    isDatabaseEmbedded: embedded !== undefined,
    ...(target !== undefined && { redis: target }),
    description: { database: describeDatabase(databaseUrl, dataFolder), limits },
    release,
  };
}

function tellRestarts(logger: Logger, name: string) {
  return {
    onRestart(failure?: unknown) {
      if (failure === undefined) logger.warn(`${name} had ended, and was started again`);
      else logger.error({ err: failure }, `${name} has ended, and could not be started again yet`);
    },
  };
}

function describeDatabase(databaseUrl: string | undefined, dataFolder: string): string {
  if (databaseUrl === undefined) return `embedded PostgreSQL in ${dataFolder}`;
  const { host, pathname } = new URL(databaseUrl);
  return `PostgreSQL at ${host}${pathname}`;
}

function describePrivateRedis(privateRedis: EmbeddedServer<SocketRedis> | undefined, dataFolder: string): string {
  return privateRedis === undefined
    ? 'in this process (no REDIS_URL, and no redis-server or valkey-server on this machine)'
    : `private Redis, its data in ${dataFolder}`;
}

function describeRedis(target: RedisTarget): string {
  switch (target.type) {
    case 'socket':
      return `Redis at ${target.path}`;
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
