/** Where Redis is. All nodes share one access. */
export type RedisTarget = SingleRedis | RedisCluster | SentinelRedis | SocketRedis;

/** A server of this machine that whoever may open its socket may use: the private one, which no text names. */
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
 * Reads where Redis is from one text:
 * - `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS;
 * - several of these, separated by commas, for a cluster;
 * - `redis+sentinel://[user:password@]host[:port],host[:port]/master-name[/database]`, or `rediss+sentinel://`. The
 *   user and password are those of Redis; the Sentinels themselves are asked without.
 *
 * @returns `undefined` where the text is none of these
 */
export function parseRedisTarget(text: string): Exclude<RedisTarget, SocketRedis> | undefined {
  if (/^rediss?\+sentinel:/.test(text)) return parseSentinel(text);
  const singles = text.split(',').map((url) => parseSingle(url.trim()));
  if (!singles.every((single) => single !== undefined)) return undefined;
  const [first] = singles;
  if (singles.length === 1) return first;
  return first && toCluster(first, singles);
}

function parseSingle(text: string): SingleRedis | undefined {
  const match = /^(rediss?):\/\/(?:([^@/]*)@)?([^@/,?#]+)(?:\/(\d{0,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, scheme, credentials, authority = '', database] = match;
  const node = parseHostAndPort(authority, REDIS_PORT);
  const access = parseAccess(credentials, scheme === 'rediss');
  return node && access && { type: 'single', ...node, database: Number(database ?? 0), ...access };
}

/** A cluster has one logical database and, here, one access. */
function toCluster(first: SingleRedis, nodes: readonly SingleRedis[]): RedisCluster | undefined {
  const { type: _, host: __, port: ___, database: ____, ...access } = first;
  const isAlike = (node: SingleRedis) =>
    node.database === 0 &&
    node.tls === access.tls &&
    node.username === access.username &&
    node.password === access.password;
  if (!nodes.every(isAlike)) return undefined;
  return { type: 'cluster', nodes: nodes.map(({ host, port }) => ({ host, port })), ...access };
}

function parseSentinel(text: string): SentinelRedis | undefined {
  const match = /^(rediss?)\+sentinel:\/\/(?:([^@/]*)@)?([^@/?#]+)\/([\w.-]+)(?:\/(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, scheme, credentials, authorities = '', masterName = '', database] = match;
  const sentinels = authorities.split(',').map((authority) => parseHostAndPort(authority.trim(), SENTINEL_PORT));
  const access = parseAccess(credentials, scheme === 'rediss');
  if (access === undefined || !sentinels.every((sentinel) => sentinel !== undefined)) return undefined;
  return { type: 'sentinel', sentinels, masterName, database: Number(database ?? 0), ...access };
}

function parseHostAndPort(authority: string, defaultPort: number): HostAndPort | undefined {
  const match = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(authority);
  if (match === null) return undefined;
  const port = Number(match[3] ?? defaultPort);
  const host = match[1] ?? match[2] ?? '';
  return port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

function parseAccess(credentials: string | undefined, tls: boolean): RedisAccess | undefined {
  if (credentials === undefined) return { tls };
  const colon = credentials.indexOf(':');
  try {
    const username = decodeURIComponent(colon < 0 ? credentials : credentials.slice(0, colon));
    const password = colon < 0 ? '' : decodeURIComponent(credentials.slice(colon + 1));
    return { tls, ...(username !== '' && { username }), ...(password !== '' && { password }) };
  } catch {
    return undefined; // a stray percent sign
  }
}
