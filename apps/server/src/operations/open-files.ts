import { existsSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';

/** Files other than connections of clients: connections to PostgreSQL and Redis, probes of the admin listener, the log. */
const RESERVED_FILES = 100;

/** The minimum number of connections, however few files may be open. */
const CONNECTIONS_MIN = 10;

/**
 * Limits the connections of clients by the number of files that this process may open: the admin listener and the
 * connections to the databases must always get one. Logs if the result is lower than wanted.
 *
 * @param wanted the maximum number of connections if there are enough files
 * @param softLimit the limit of open files; `undefined` if there is none or it is unknown
 */
export function boundConnections(
  wanted: number,
  logger: Pick<Logger, 'warn'>,
  softLimit: number | undefined = readSoftLimit(),
): number {
  const bound = Math.max(CONNECTIONS_MIN, (softLimit ?? Number.POSITIVE_INFINITY) - RESERVED_FILES);
  if (bound >= wanted) return wanted;
  logger.warn(
    { openFiles: softLimit, connections: bound },
    `too few open files are allowed: ${bound} connections of clients at most, instead of ${wanted}; ` +
      `raise the limit (ulimit -n, LimitNOFILE) to ${wanted + RESERVED_FILES} or more`,
  );
  return bound;
}

/**
 * Node has raised the soft limit to the hard limit, if it could. Only Linux provides it in a file, and not in a container
 * without /proc.
 *
 * @internal exported for a test
 */
export function readSoftLimit(file = '/proc/self/limits'): number | undefined {
  if (!existsSync(file)) return undefined;
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8')) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
