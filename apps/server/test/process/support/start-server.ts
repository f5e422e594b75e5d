import { createTestRedis } from '@petstore/testing';
import { createServerDatabase } from '../../support/template-database.ts';
import { SpawnedServer, useDataFolder } from './spawned-server.ts';

export interface StartedServer extends AsyncDisposable {
  readonly server: SpawnedServer;
  readonly databaseUrl: string;
}

/**
 * A server in a process of its own, on a database and a Redis of its own. The database has the test keys.
 *
 * @param environment settings; DATABASE_URL and REDIS_URL replace the server's own
 */
export async function startServer(environment: Record<string, string> = {}): Promise<StartedServer> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.adopt(useDataFolder(), (used) => used[Symbol.dispose]());
  const databaseUrl = environment['DATABASE_URL'] ?? resources.use(await createServerDatabase()).url;
  const redisUrl = environment['REDIS_URL'] ?? resources.use(await createTestRedis()).url;
  const settings = { ...environment, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const server = resources.use(new SpawnedServer(folder.path, settings));
  const owned = resources.move();
  return { server, databaseUrl, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
