import { isDeepStrictEqual } from 'node:util';

/** The location of Redis. */
export type RedisTarget =
  | (RedisAccess & HostAndPort & { readonly type: 'single'; readonly database: number })
  /** One that a server runs below its data folder; no URL names it. */
  | (RedisAccess & { readonly type: 'socket'; readonly path: string })
  /** Some nodes of a cluster; the others are found through them. */
  | (RedisAccess & { readonly type: 'cluster'; readonly nodes: readonly HostAndPort[] })
  | (RedisAccess & {
      readonly type: 'sentinel';
      readonly sentinels: readonly HostAndPort[];
      readonly masterName: string;
      readonly database: number;
    });

/** The same for all nodes. */
interface RedisAccess {
  readonly username?: string;
  readonly password?: string;
  /** `'unverified'`: TLS with any certificate. */
  readonly tls: boolean | 'unverified';
}

interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Parses the location of Redis:
 * - `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS;
 * - several of these, separated by commas, for a cluster, which has one user, one password and no database numbers;
 * - `redis+sentinel://[user:password@]host[:port],host[:port]/master-name[/database]`, or `rediss+sentinel://`. The
 *   user and password are those of Redis; the Sentinels are used without credentials;
 * - with TLS, `?tls_verify=none` at the end, or at the end of any of several URLs: no certificate is verified.
 *
 * @returns `undefined` if the text is none of these
 */
export function parseRedisTarget(text: string): RedisTarget | undefined {
  const location = text.replaceAll(/\?tls_verify=none(?=,|$)/g, '');
  const target = parseLocation(location);
  if (target === undefined || location === text) return target;
  return target.tls ? { ...target, tls: 'unverified' } : undefined; // without TLS it would have no effect
}

function parseLocation(text: string): RedisTarget | undefined {
  const sentinel = /^(rediss?)\+sentinel:\/\/((?:[^@/]*@)?)([^@/?#]+)\/([\w.-]+)((?:\/\d{1,5})?)$/.exec(text);
  if (sentinel !== null) {
    const [, scheme, user, hosts = '', masterName = '', database] = sentinel;
    const urls = hosts.split(',').map((host) => `${scheme}://${user}${host.trim()}${database}`);
    const parsed = parseUrls(urls, SENTINEL_PORT);
    return parsed && { type: 'sentinel', sentinels: parsed.nodes, masterName, ...parsed.shared };
  }
  const parsed = parseUrls(text.split(','), REDIS_PORT);
  if (parsed === undefined) return undefined;
  const { nodes, shared } = parsed;
  const [first, ...others] = nodes;
  if (first !== undefined && others.length === 0) return { type: 'single', ...first, ...shared };
  const { database, ...access } = shared;
  return database === 0 ? { type: 'cluster', nodes, ...access } : undefined;
}

/** Parses URLs that differ only in host and port. */
function parseUrls(texts: readonly string[], defaultPort: number) {
  const urls = texts.map((text) => parseUrl(text.trim()));
  const [first] = urls;
  if (first === undefined) return undefined;
  const nodes: HostAndPort[] = [];
  for (const url of urls) {
    if (url === undefined || !isDeepStrictEqual(url.shared, first.shared)) return undefined;
    nodes.push({ host: url.host, port: url.port ?? defaultPort });
  }
  return { nodes, shared: first.shared };
}

function parseUrl(text: string) {
  const url = URL.parse(text);
  const isComplete = url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== '' && url.port !== '0';
  if (!isComplete || !/^(?:\/\d{0,5})?$/.test(url.pathname) || url.search + url.hash !== '') return undefined;
  try {
    const [username, password] = [url.username, url.password].map(decodeURIComponent);
    // Nobody would log in. Most likely a password without the colon in front of it.
    if (password === '' && username !== '' && username !== 'default') return undefined;
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? undefined : Number(url.port),
      shared: {
        tls: url.protocol === 'rediss:',
        database: Number(url.pathname.slice(1)),
        ...(username && { username }),
        ...(password && { password }),
      },
    };
  } catch {
    return undefined; // a per cent sign that escapes nothing
  }
}
