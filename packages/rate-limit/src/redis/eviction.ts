import { Cluster, type Redis } from 'ioredis';

/** A Redis that has a most memory, and forgets at it what it should not, or nothing. */
export interface UnfitEviction {
  /** Its `host:port`, or the path of its socket. */
  readonly redis: string;
  /** Its `maxmemory-policy`. */
  readonly policy: string;
  readonly maxMemoryBytes: number;
}

/** Evicts first what expires soonest: addresses, of which a flood creates many, before keys and their bans. */
const FIT_POLICY = 'volatile-ttl';

/**
 * Looks once, when a Redis is first connected to, at what it does when it is full. INFO says so where CONFIG is not
 * permitted; where neither is, nothing is known and nothing is reported.
 */
export function watchEviction(redis: Redis | Cluster, report: (unfit: UnfitEviction) => void): void {
  const look = async (node: Redis): Promise<void> => {
    const { path, host, port } = node.options;
    const unfit = parseEviction(await node.info('memory'));
    if (unfit !== undefined) report({ redis: path ?? `${host}:${port}`, ...unfit });
  };
  const lookAt = (node: Redis): void => void look(node).catch(() => {}); // not permitted, or away again
  if (!(redis instanceof Cluster)) redis.once('ready', () => lookAt(redis));
  else redis.once('ready', () => redis.nodes('master').forEach(lookAt));
}

/** @returns `undefined` where memory has no bound, or the policy is the right one, or INFO does not say */
function parseEviction(info: string): Omit<UnfitEviction, 'redis'> | undefined {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const maxMemoryBytes = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
  if (policy === undefined || policy === FIT_POLICY || maxMemoryBytes === 0) return undefined;
  return { policy, maxMemoryBytes };
}
