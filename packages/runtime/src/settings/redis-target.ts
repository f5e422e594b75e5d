/** Where Redis is. All nodes share one access. */
export type RedisTarget = SingleRedis | RedisCluster | SentinelRedis | SocketRedis;

/** The private server of this machine: permission to open its socket is permission to use it. No setting names one. */
export interface SocketRedis {
  readonly type: 'socket';
  /** Absolute path of the Unix socket. */
  readonly path: string;
}

export interface SingleRedis extends RedisAccess {
  readonly type: 'single';
  readonly host: string;
  readonly port: number;
  /** Logical database, 0 or more. */
  readonly database: number;
}

/** Any nodes of a cluster; the others are found through them. */
export interface RedisCluster extends RedisAccess {
  readonly type: 'cluster';
  readonly nodes: readonly HostAndPort[];
}

export interface SentinelRedis extends RedisAccess {
  readonly type: 'sentinel';
  readonly sentinels: readonly HostAndPort[];
  readonly masterName: string;
  /** Logical database, 0 or more. */
  readonly database: number;
}

export interface RedisAccess {
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Parses where Redis is:
 * - `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS;
 * - several of these, separated by commas, for a cluster;
 * - `redis+sentinel://[user:password@]host[:port],host[:port]/master-name[/database]`, or `rediss+sentinel://`. The
 *   user and password are those of Redis; the Sentinels themselves are used without.
 *
 * @returns `undefined` where the text is none of these
 */
export function parseRedisTarget(text: string): Exclude<RedisTarget, SocketRedis> | undefined {
  if (/^rediss?\+sentinel:/.test(text)) return parseSentinel(text);
  const [first, ...others] = text.split(',').map((url) => parseSingle(url.trim(), REDIS_PORT));
  if (first === undefined || others.length === 0) return first;
  return others.every((other) => other !== undefined) ? toCluster([first, ...others]) : undefined;
}

function parseSingle(text: string, defaultPort: number): SingleRedis | undefined {
  const url = URL.parse(text);
  const isComplete = url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== '' && url.port !== '0';
  if (!isComplete || !/^(?:\/\d{0,5})?$/.test(url.pathname) || url.search + url.hash !== '') return undefined;
  const credentials = decodeCredentials(url);
  if (credentials === undefined) return undefined;
  return {
    type: 'single',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || defaultPort),
    database: Number(url.pathname.slice(1)),
    tls: url.protocol === 'rediss:',
    ...credentials,
  };
}

function decodeCredentials({ username, password }: URL): Omit<RedisAccess, 'tls'> | undefined {
  try {
    return {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
    };
  } catch {
    return undefined; // a stray percent sign
  }
}

/** A cluster has one logical database and, here, one access. */
function toCluster(nodes: readonly [SingleRedis, ...SingleRedis[]]): RedisCluster | undefined {
  const [{ type: _, host: __, port: ___, database: ____, ...access }] = nodes;
  const isAlike = (node: SingleRedis) =>
    node.database === 0 &&
    node.tls === access.tls &&
    node.username === access.username &&
    node.password === access.password;
  if (!nodes.every(isAlike)) return undefined;
  return { type: 'cluster', nodes: nodes.map(({ host, port }) => ({ host, port })), ...access };
}

function parseSentinel(text: string): SentinelRedis | undefined {
  const match = /^(rediss?)\+sentinel:\/\/((?:[^@/]*@)?)([^@/?#]+)\/([\w.-]+)((?:\/\d{1,5})?)$/.exec(text);
  if (match === null) return undefined;
  const [, scheme, access, authorities = '', masterName = '', database] = match;
  const nodes = authorities
    .split(',')
    .map((authority) => parseSingle(`${scheme}://${access}${authority.trim()}${database}`, SENTINEL_PORT));
  const [first] = nodes;
  if (first === undefined || !nodes.every((node) => node !== undefined)) return undefined;
  const { type: _, host: __, port: ___, ...shared } = first;
  return { type: 'sentinel', sentinels: nodes.map(({ host, port }) => ({ host, port })), masterName, ...shared };
}
