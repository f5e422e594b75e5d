import { Cluster, type CommonRedisOptions, Redis } from 'ioredis';
import { ConnectionTrouble, WHOLE } from './connection-trouble.ts';

/** One Redis server, here or elsewhere, a cluster, or a master that Sentinels know. */
export type RedisLocation =
  | { readonly type: 'socket'; readonly path: string }
  | (RedisCredentials & HostAndPort & { readonly type: 'single'; readonly database: number })
  | (RedisCredentials & { readonly type: 'cluster'; readonly nodes: readonly HostAndPort[] })
  | (RedisCredentials & {
      readonly type: 'sentinel';
      readonly sentinels: readonly HostAndPort[];
      readonly masterName: string;
      readonly database: number;
    });

interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** For Redis itself; Sentinels take none. */
interface RedisCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

export interface RedisConnectionOptions {
  /** Begins the name of every key, so that two deployments can share a Redis. @default '' */
  readonly keyPrefix?: string;
}

const RECONNECT_MIN_MS = 50;
const RECONNECT_MAX_MS = 1_000;
const CONNECT_TIMEOUT_MS = 1_000;
/** How often a cluster is asked for its topology, besides whenever a node redirects. */
const TOPOLOGY_INTERVAL_MS = 2_000;

/** @param attempt from 1 */
const reconnectDelayMs = (attempt: number): number =>
  Math.min(RECONNECT_MIN_MS * 2 ** Math.min(attempt - 1, 5), RECONNECT_MAX_MS);

/**
 * Connects to Redis for a limiter, and for nothing else: what cannot be sent at once fails, nothing is sent twice, and a
 * lost connection is made anew for ever, after 50 ms up to 1 s. Returns at once; see {@link ConnectionTrouble} for why there
 * is none.
 */
export function connectRedis(location: RedisLocation, options: RedisConnectionOptions = {}): Redis | Cluster {
  const { password }: Partial<RedisCredentials> = location.type === 'socket' ? {} : location;
  const trouble = new ConnectionTrouble([password]);
  const redis = open(location, options, trouble);
  trouble.watch(redis);
  return redis;
}

function open(
  location: RedisLocation,
  { keyPrefix = '' }: RedisConnectionOptions,
  trouble: ConnectionTrouble,
): Redis | Cluster {
  const { username, password, tls }: RedisCredentials = location.type === 'socket' ? { tls: false } : location;
  const options = {
    keyPrefix,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: RECONNECT_MAX_MS,
    disableClientInfo: true,
    connectionName: 'petstore-rate-limit',
  } satisfies CommonRedisOptions & { tls?: object };
  const single = { ...options, enableOfflineQueue: false, retryStrategy: reconnectDelayMs };
  switch (location.type) {
    case 'socket':
      return new Redis({ ...single, path: location.path });
    case 'single':
      return insistOnDatabase(
        new Redis({ ...single, host: location.host, port: location.port, db: location.database }),
      );
    case 'sentinel':
      return insistOnDatabase(
        new Redis({
          ...single,
          sentinels: location.sentinels.map(({ host, port }) => ({ host, port })),
          name: location.masterName,
          db: location.database,
          sentinelRetryStrategy: reconnectDelayMs,
          // A master that was demoted refuses to write: the Sentinels know the new one.
          reconnectOnError: (error) => error.message.startsWith('READONLY'),
          ...(tls && { enableTLSForSentinelMode: true }),
        }),
      );
    case 'cluster':
      return connectEarly(
        new Cluster(
          location.nodes.map(({ host, port }) => ({ host, port })),
          {
            enableOfflineQueue: false,
            // The check would ask a node that is still being connected to, fail, and begin again. Replies show as much.
            enableReadyCheck: false,
            // A redirected command has not run and goes on; one that met a lost connection may have run and does not.
            retryDelayOnFailover: 0,
            retryDelayOnClusterDown: 0,
            maxRedirections: 4,
            clusterRetryStrategy(attempt, error) {
              if (error !== undefined) trouble.note(WHOLE, error); // a name that is not found
              return reconnectDelayMs(attempt);
            },
            slotsRefreshInterval: TOPOLOGY_INTERVAL_MS,
            redisOptions: options,
          },
        ),
      );
    default:
      return location satisfies never;
  }
}

/** ioredis goes on where a database cannot be selected, and would count in the database 0. */
function insistOnDatabase(redis: Redis): Redis {
  redis.on('error', ({ command }: Error & { readonly command?: { readonly name: string } }) => {
    if (command?.name === 'select') redis.disconnect(true);
  });
  return redis;
}

/** Connects to each master once it is known, not when it is first needed: what is sent meanwhile would fail. */
function connectEarly(cluster: Cluster): Cluster {
  cluster.on('+node', (node: Redis) => {
    if (node.status !== 'wait' || node.options.readOnly) return;
    node.connect().catch(() => {}); // it is tried again with the next command
  });
  return cluster;
}
