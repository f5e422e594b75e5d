import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls';
import {
  AbstractConnector,
  Cluster,
  type CommonRedisOptions,
  Redis,
  type SentinelConnectionOptions,
  SentinelConnector,
  type StandaloneConnectionOptions,
} from 'ioredis';

/** A Redis server, by its address or its socket, a cluster, or a master that Sentinels know. */
export type RedisLocation =
  | (RedisCredentials & HostAndPort & { readonly type: 'single'; readonly database: number })
  | (RedisCredentials & { readonly type: 'socket'; readonly path: string })
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

/** The credentials for Redis itself; Sentinels take none. */
interface RedisCredentials {
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

const TIMEOUT_MS = 100;
const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MAX_MS = 1_000;
/** A connection that is silent for so long may lead to a machine that is gone. */
const SILENCE_MAX_MS = 3_000;
/** How often a cluster is asked for its topology, in addition to each redirection by a node. */
const TOPOLOGY_INTERVAL_MS = 2_000;

/** 50 ms, doubled with each attempt, up to 1 s. */
const reconnectDelayMs = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt - 1, 5), RECONNECT_MAX_MS);

/** Why the connection was lost or could not be made. */
const errors = new WeakMap<Redis | Cluster, Error>();

/**
 * Connects to Redis for a limiter, and for nothing else: a command that cannot be sent at once fails, none is sent twice,
 * and a lost connection is retried for ever. Returns at once; {@link reasonOf} says why there is no connection.
 */
export function connectRedis(location: RedisLocation, options: RedisConnectionOptions = {}): Redis | Cluster {
  const note = (error: Error) => {
    if (!SAYS_NOTHING.test(error.message)) errors.set(redis, error);
  };
  const redis = open(location, options, note);
  return redis
    .on('error', note)
    .on('node error', note)
    .on('ready', () => errors.delete(redis));
}

function open(
  location: RedisLocation,
  { keyPrefix = '', timeoutMs = TIMEOUT_MS }: RedisConnectionOptions,
  note: (error: Error) => void,
) {
  const { username, password } = location;
  const nodes = nodesOf(location);
  const tls = tlsOptionsOf(location, nodes);
  const common = {
    keyPrefix,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls }),
    commandTimeout: timeoutMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: Math.max(SILENCE_MAX_MS, 2 * timeoutMs),
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: RECONNECT_MAX_MS,
    disableClientInfo: true,
    connectionName: 'rate-limit',
  } satisfies CommonRedisOptions;
  const single = { ...common, enableOfflineQueue: false, retryStrategy: reconnectDelayMs };
  switch (location.type) {
    case 'socket':
    case 'single': {
      const connector = tls && { Connector: TlsConnector };
      return requireDatabase(new Redis({ ...single, ...connector, ...placeOf(location) }));
    }
    case 'sentinel':
      return requireDatabase(
        new Redis({
          ...single,
          sentinels: nodes,
          name: location.masterName,
          db: location.database,
          sentinelRetryStrategy: reconnectDelayMs,
          // A demoted master refuses writes; the Sentinels know the new one.
          reconnectOnError: (error) => error.message.startsWith('READONLY'),
          ...(tls && sentinelTlsOptions(tls)),
        }),
      );
    case 'cluster':
      return connectEarly(
        new Cluster(nodes, {
          enableOfflineQueue: false,
          // The check would query a node that is still connecting, fail, and start again.
          enableReadyCheck: false,
          // A redirected command has not run, and is sent on. One on a lost connection may have run, and is not repeated.
          retryDelayOnFailover: 0,
          retryDelayOnClusterDown: 0,
          maxRedirections: 4,
          clusterRetryStrategy(attempt, error) {
            if (error !== undefined) note(error); // such as a name that is not found
            return reconnectDelayMs(attempt);
          },
          slotsRefreshInterval: TOPOLOGY_INTERVAL_MS,
          // The system looks a name up when it connects. A certificate is for the name, not for an address.
          dnsLookup: (name, found) => found(null, name),
          redisOptions: { ...common, ...(tls && { Connector: TlsConnector }) },
        }),
      );
    default:
      return location satisfies never;
  }
}

const placeOf = (location: RedisLocation & { readonly type: 'single' | 'socket' }) =>
  location.type === 'socket'
    ? { path: location.path }
    : { host: location.host, port: location.port, db: location.database };

/** The nodes that a location names, in objects that ioredis may change. */
function nodesOf(location: RedisLocation): HostAndPort[] {
  if (location.type === 'single') return [{ host: location.host, port: location.port }];
  if (location.type === 'socket') return [];
  return (location.type === 'cluster' ? location.nodes : location.sentinels).map((node) => ({ ...node }));
}

/** `undefined`: no TLS. */
function tlsOptionsOf({ tls }: RedisCredentials, nodes: readonly HostAndPort[]): ConnectionOptions | undefined {
  if (tls !== true) return tls ? { rejectUnauthorized: false } : undefined;
  return {
    // A cluster or Sentinels may announce a node by an address, though its certificate is for a name.
    checkServerIdentity(host, certificate) {
      const error = checkServerIdentity(host, certificate);
      const isNamed = nodes.some((named) => checkServerIdentity(named.host, certificate) === undefined);
      return isIP(host) !== 0 && isNamed ? undefined : error;
    },
  };
}

/** Tells a server by which name it is called (SNI), if it is one: a server may have a certificate for each name. */
const serverNameOf = (host: string) => (isIP(host) === 0 ? { servername: host } : {});

/** Adds that name to the address of a master, with which ioredis connects. */
function withServerName(address: string) {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon);
  return { host, port: Number(address.slice(colon + 1)), ...serverNameOf(host) };
}

/** Connects to a single server, or to a node of a cluster. */
class TlsConnector extends AbstractConnector {
  readonly #options: StandaloneConnectionOptions;

  constructor(options: unknown) {
    super(CONNECT_TIMEOUT_MS);
    this.#options = options as StandaloneConnectionOptions; // ioredis passes those of the connection
  }

  override async connect(): Promise<TLSSocket> {
    const { host = '', port = 0, tls } = this.#options;
    this.connecting = true;
    const stream = ignoreErrors(connect({ host, port, ...serverNameOf(host), ...tls }));
    this.stream = stream.once('error', (error) => {
      this.firstError = error;
    });
    return stream;
  }
}

const sentinelTlsOptions = (tls: ConnectionOptions) => ({
  Connector: TlsSentinelConnector,
  enableTLSForSentinelMode: true,
  sentinelTLS: tls,
  natMap: withServerName,
});

/** Connects to a master that Sentinels know. */
class TlsSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions); // likewise
  }

  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    return ignoreErrors(await super.connect(emit));
  }
}

/**
 * Listens for all errors of a socket, whereas ioredis listens for one. Node reports two if a connection is closed during
 * its handshake and then its certificate is refused, because Redis replies with an alert. The second would end the process.
 */
const ignoreErrors = <Stream extends Socket>(stream: Stream): Stream => stream.on('error', () => {});

/** If a database cannot be selected, ioredis would go on, and count in database 0. */
function requireDatabase(redis: Redis): Redis {
  return redis.on('error', ({ command }: Error & { readonly command?: { readonly name: string } }) => {
    if (command?.name === 'select') redis.disconnect(true);
  });
}

/** Connects to each master as soon as it is known: commands sent during a connection on first use would fail. */
function connectEarly(cluster: Cluster): Cluster {
  return cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait' && !node.options.readOnly) node.connect().catch(() => {}); // tried again when it is needed
  });
}

/** These errors follow from another error, or from closing the connection ourselves. */
const SAYS_NOTHING = /^(?:Connection is closed|Stream isn't writeable|None of startup|Cluster is|Failed to refresh)/;
const REASON_LENGTH_MAX = 160;

/** What a server, or ioredis of it, says to programmers; and what that means if a single server is named. */
const MEANINGS: readonly (readonly [message: RegExp, meaning: string])[] = [
  [
    /^(?:MOVED|ASK|CROSSSLOT|CLUSTERDOWN)\b/,
    'it is a node of a Redis Cluster: name several of its nodes, separated by commas',
  ],
  [/^READONLY\b/, 'it is a replica, which takes no writes: name the primary'],
  [/^Stream isn't writeable/, 'the connection is closed without a reply, as by a server that wants TLS (rediss:)'],
  [/^Unknown RESP type/, 'what answers there is no Redis'],
];

/** Whether one server is named, and no cluster and no Sentinels, which find another one by themselves. */
const isSingle = (redis: Redis | Cluster): redis is Redis =>
  !(redis instanceof Cluster) && (redis.options.sentinels ?? []).length === 0;

/** ioredis says this whatever the reason is, also of a certificate that it has refused. */
const NO_SENTINEL = 'All sentinels are unreachable';

const verifiesSentinels = ({ options }: Redis | Cluster): boolean =>
  'sentinelTLS' in options && options.sentinelTLS !== undefined && options.sentinelTLS.rejectUnauthorized !== false;

/**
 * Why Redis is unavailable: its reply to a call, or why there is no connection. One short line without a secret.
 *
 * @param lastError the error of the last call
 */
export function reasonOf(redis: Redis | Cluster, lastError: Error | undefined): string {
  const error = lastError?.name === 'ReplyError' ? lastError : (errors.get(redis) ?? lastError);
  const message = error?.message ?? 'no response';
  if (isSingle(redis)) {
    const [, meaning] = MEANINGS.find(([said]) => said.test(message)) ?? [];
    if (meaning !== undefined) return meaning;
    if (message === 'connect ETIMEDOUT' && redis.options.tls)
      return 'no reply to TLS; a server without it needs redis:';
  }
  if (message.startsWith(NO_SENTINEL) && verifiesSentinels(redis)) {
    return `${NO_SENTINEL}, or their certificates are refused (tls_verify in REDIS_URL)`;
  }
  // An unknown command is quoted with its arguments: those of AUTH include a password.
  const [line = ''] = message
    .replace(/,? with args beginning with.*/s, '')
    .replace(/ Retrying from scratch.*| Last error: Connection is closed\.$/s, '')
    .split('\n');
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)}...` : line.replace(/\.$/, '');
}
