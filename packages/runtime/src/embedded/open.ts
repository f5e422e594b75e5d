import type { SocketRedis } from '../settings/redis-target.ts';
import type { EmbeddedPostgresOptions, EmbeddedServer, UseOptions } from './shared-server.ts';

// What runs the embedded servers is loaded only where they are used: a start on external ones need not wait for it.

/**
 * Uses the PostgreSQL below a data folder; makes and starts it where that has not been done. Takes the variables of libpq
 * (PG...) out of the environment of this process.
 *
 * @returns its `postgres://` address
 * @throws RuntimeError, of one line, when it cannot run, or there is none and it may not be made
 */
export async function openEmbeddedPostgres(
  dataFolder: string,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedServer<string>> {
  // It is this program's own. What a shell says of other databases (PGSSLMODE, PGOPTIONS ...) pg would read for it as well.
  // biome-ignore lint/style/noProcessEnv: they are taken away where pg reads them
  const environment = process.env;
  for (const name of Object.keys(environment)) {
    if (/^PG[A-Z_]+$/.test(name)) delete environment[name];
  }
  const { useEmbeddedPostgres } = await import('./embedded-postgres.ts');
  return useEmbeddedPostgres(dataFolder, options);
}

/**
 * Uses the Redis below a data folder; starts it where none runs. Limits outlive a restart: it saves when it ends, and
 * once a minute.
 *
 * @returns `undefined` where this machine has neither redis-server nor valkey-server
 * @throws RuntimeError, of one line, when it cannot run
 */
export async function openPrivateRedis(
  dataFolder: string,
  options: UseOptions = {},
): Promise<EmbeddedServer<SocketRedis> | undefined> {
  const { usePrivateRedis } = await import('./private-redis.ts');
  return usePrivateRedis(dataFolder, options);
}
