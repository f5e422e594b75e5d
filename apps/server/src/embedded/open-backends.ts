import { type DatabaseUrls, type EmbeddedPostgres, openEmbeddedPostgres, type RedisTarget } from '@petstore/runtime';
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';

/** The places of the data and the limits. */
export interface Backends {
  readonly databaseUrls: readonly string[];
  /** `undefined` if the settings name a database. */
  readonly embedded: EmbeddedPostgres | undefined;
  /** Both are for people, and contain no password. */
  readonly description: { readonly database: string; readonly limits: string };
}

/**
 * Locates PostgreSQL by the settings, or starts the embedded one, which stops when the resources are disposed of.
 *
 * @param options.signal aborts a start in progress
 * @throws RuntimeError, with a message of one line, if it cannot be started
 */
export async function openBackends(
  settings: Settings,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
  resources: AsyncDisposableStack,
): Promise<Backends> {
  const { dataFolder, databaseUrls, redis } = settings;
  const limits = describeLimits(redis);
  if (databaseUrls !== undefined) {
    return { databaseUrls, embedded: undefined, description: { database: describeDatabase(databaseUrls), limits } };
  }
  logger.info('starting the embedded PostgreSQL; the first time this takes some seconds');
  const embedded = await openEmbeddedPostgres(dataFolder, {
    server: settings.reusePort ? 'shared' : 'alone',
    signal,
    onEnd: () => logger.error('the embedded PostgreSQL was killed, and is not started again: restart this server'),
  });
  resources.defer(() => embedded.release());
  const database = `embedded PostgreSQL in ${dataFolder}`;
  return { databaseUrls: [embedded.url], embedded, description: { database, limits } };
}

function describeDatabase(databaseUrls: DatabaseUrls): string {
  const hosts = databaseUrls.map((text) => new URL(text)).map((url) => url.searchParams.get('host') ?? url.host);
  return `PostgreSQL at ${hosts.join(',')}${new URL(databaseUrls[0]).pathname}`;
}

function describeLimits(target: RedisTarget | undefined): string {
  switch (target?.type) {
    case undefined:
      return 'in this process, lost when it ends; set REDIS_URL to keep them';
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
