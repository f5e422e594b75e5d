import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';

/** Files that are not connections of clients: those to PostgreSQL and Redis, probes of the admin listener, the log. */
const RESERVED_FILES = 100;

/** However few files may be open. */
const CONNECTIONS_MIN = 10;

/**
 * Bounds the connections of clients by the open files that this process may have, so that the admin listener and the
 * connections to the databases never lack one. Logs if that is less than wanted.
 *
 * @param wanted how many connections there may be if files suffice
 * @param softLimit of open files; `undefined`: there is none, or it is not known
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

/** Node has raised it to the hard limit, if it could. Only Linux says it in a file. */
function readSoftLimit(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
