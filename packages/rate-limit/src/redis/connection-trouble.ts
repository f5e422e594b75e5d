import { Cluster, type Redis } from 'ioredis';

/** The name of the only Redis there is, where it is no cluster; of a cluster, what counts for it as a whole. */
export const WHOLE = 'redis';

const LENGTH_MAX = 160;
/** Follows from another error, or from our closing the connection, and says nothing about why. */
const SAYS_NOTHING =
  /^(?:Connection is closed|None of startup nodes is available|Cluster is disconnect|Failed to refresh)/;

const recorded = new WeakMap<Redis | Cluster, ConnectionTrouble>();

/**
 * Why there is no connection: of each attempt the first error, such as a wrong password. The errors after it only say that
 * the connection is closed, and calls only that there is none.
 */
export class ConnectionTrouble {
  readonly #secrets: readonly string[];
  /** By master: `host:port` in a cluster, else {@link WHOLE}. */
  readonly #reasons = new Map<string, string>();
  /** Whose attempt under way has a reason already. */
  readonly #explained = new Set<string>();

  /** @param secrets what must not be shown, whatever the server says */
  constructor(secrets: readonly (string | undefined)[]) {
    this.#secrets = secrets.filter((secret) => secret !== undefined && secret !== '') as string[]; // by the filter
  }

  watch(redis: Redis | Cluster): void {
    recorded.set(redis, this);
    if (redis instanceof Cluster) {
      redis.on('+node', ({ options: { host, port } }: Redis) => this.#explained.delete(`${host}:${port}`));
      redis.on('node error', (error: Error, node: string) => this.note(node, error));
      redis.on('error', () => {}); // the nodes have said why
      return;
    }
    redis.on('connecting', () => this.#explained.clear());
    redis.on('ready', () => this.forget());
    redis.on('error', (error) => this.note(WHOLE, error));
  }

  note(master: string, error: Error): void {
    if (this.#explained.has(master) || SAYS_NOTHING.test(error.message)) return;
    const isSecret = this.#secrets.some((secret) => error.message.includes(secret));
    this.#explained.add(master);
    this.#reasons.set(master, isSecret ? 'refused, with a message that is not shown' : shortReason(error.message));
  }

  /** @returns `undefined` where nothing is known to be wrong */
  reasonOf(master: string): string | undefined {
    return this.#reasons.get(master) ?? (master === WHOLE ? this.#reasons.values().next().value : undefined);
  }

  /** Called once there is a connection. */
  forget(): void {
    this.#explained.clear();
    this.#reasons.clear();
  }
}

/** Of a connection that `connectRedis` has made. */
export const connectionTroubleOf = (redis: Redis | Cluster): ConnectionTrouble | undefined => recorded.get(redis);

/** One short line. What follows an unknown command are its arguments: AUTH has a password. */
export function shortReason(message: string): string {
  const [line = ''] = message
    .replace(/,? with args beginning with.*/s, '')
    .replace(/ Retrying from scratch.*?ms\.| Last error: Connection is closed\.$/g, '')
    .split('\n');
  return line.length > LENGTH_MAX ? `${line.slice(0, LENGTH_MAX)}...` : line.replace(/\.$/, '');
}
