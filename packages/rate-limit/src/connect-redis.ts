import { Cluster, type CommonRedisOptions, Redis } from 'ioredis';
import { TlsConnector, TlsSentinelConnector, tlsOptionsOf } from './redis-tls.ts';
import { forgetError, noteError } from './unavailable-reason.ts';

/** A Redis server, by its address or its socket, a cluster, or a master that Sentinels know. */
export type RedisLocation = RedisAccess &
  (
    | (HostAndPort & { readonly type: 'single'; readonly database: number })
    | { readonly type: 'socket'; readonly path: string }
    | { readonly type: 'cluster'; readonly nodes: readonly HostAndPort[] }
    | {
        readonly type: 'sentinel';
        readonly sentinels: readonly HostAndPort[];
        readonly masterName: string;
        readonly database: number;
      }
  );

interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** The credentials for Redis itself; Sentinels take none. */
interface RedisAccess {
  readonly username?: string;
  readonly password?: string;
  /** `'unverified'`: TLS with any certificate. */
  readonly tls: boolean | 'unverified';
}

export interface RedisConnectionOptions {
  /** The prefix of every key, with which two deployments can share a Redis. @default '' */
  readonly keyPrefix?: string;
  /** The timeout of a command, in milliseconds. @default 100 */
  readonly timeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MAX_MS = 1_000;
/** A connection that is silent for so long may lead to a machine that is gone. */
const SILENCE_MAX_MS = 3_000;
/** How often a cluster is asked for its topology, in addition to each redirection by a node. */
const TOPOLOGY_INTERVAL_MS = 2_000;

/** 50 ms, doubled with each attempt, up to 1 s. */
const reconnectDelayMs = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt - 1, 5), RECONNECT_MAX_MS);

/**
 * Connects to Redis for a limiter, and for nothing else: a command that cannot be sent at once fails, none is sent twice,
 * and a lost connection is retried for ever. Returns at once; `reasonOf` says why there is no connection.
 */
export function connectRedis(location: RedisLocation, options: RedisConnectionOptions = {}): Redis | Cluster {
  const redis = location.type === 'cluster' ? openCluster(location, options) : openServer(location, options);
  const note = (error: Error) => noteError(redis, error);
  return redis
    .on('error', note)
    .on('node error', note)
    .on('ready', () => forgetError(redis));
}

const optionsOf = ({ username, password }: RedisAccess, { keyPrefix = '', timeoutMs = 100 }: RedisConnectionOptions) =>
  ({
    keyPrefix,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    commandTimeout: timeoutMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: Math.max(SILENCE_MAX_MS, 2 * timeoutMs),
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: RECONNECT_MAX_MS,
    disableClientInfo: true,
    connectionName: 'rate-limit',
  }) satisfies CommonRedisOptions;

function openServer(location: Exclude<RedisLocation, { type: 'cluster' }>, options: RedisConnectionOptions): Redis {
  const always = { ...optionsOf(location, options), enableOfflineQueue: false, retryStrategy: reconnectDelayMs };
  if (location.type === 'socket') return new Redis({ ...always, path: location.path });
  const { type, database: db } = location;
  const tls = tlsOptionsOf(location.tls, type === 'sentinel' ? location.sentinels : [location]);
  const redis =
    type === 'single'
      ? new Redis({
          ...always,
          db,
          host: location.host,
          port: location.port,
          ...(tls && { tls, Connector: TlsConnector }),
        })
      : new Redis({
          ...always,
          db,
          sentinels: location.sentinels.map((sentinel) => ({ ...sentinel })), // ioredis changes what it is given
          name: location.masterName,
          sentinelRetryStrategy: reconnectDelayMs,
          // A demoted master refuses writes; the Sentinels know the new one.
          reconnectOnError: (error) => error.message.startsWith('READONLY'),
          ...(tls && { tls, enableTLSForSentinelMode: true, sentinelTLS: tls, Connector: TlsSentinelConnector }),
        });
  // If a database cannot be selected, ioredis would go on, and count in database 0.
  return redis.on('error', ({ command }: Error & { readonly command?: { readonly name: string } }) => {
    if (command?.name === 'select') redis.disconnect(true);
  });
}

function openCluster(location: RedisLocation & { readonly type: 'cluster' }, options: RedisConnectionOptions): Cluster {
  const tls = tlsOptionsOf(location.tls, location.nodes);
  const cluster: Cluster = new Cluster(
    location.nodes.map((node) => ({ ...node })), // ioredis changes what it is given
    {
      enableOfflineQueue: false,
      // The check would query a node that is still connecting, fail, and start again.
      enableReadyCheck: false,
      // A redirected command has not run, and is sent on. One on a lost connection may have run, and is not repeated.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      maxRedirections: 4,
      clusterRetryStrategy(attempt, error) {
        if (error !== undefined) noteError(cluster, error); // such as a name that is not found
        return reconnectDelayMs(attempt);
      },
      slotsRefreshInterval: TOPOLOGY_INTERVAL_MS,
      // The system looks a name up when it connects. A certificate is for the name, not for an address.
      dnsLookup: (name, found) => found(null, name),
      redisOptions: { ...optionsOf(location, options), ...(tls && { tls, Connector: TlsConnector }) },
    },
  );
  // Connects to each master as soon as it is known: commands sent during a connection on first use would fail.
  return cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait' && !node.options.readOnly) node.connect().catch(() => {}); // tried again when it is needed
  });
}
