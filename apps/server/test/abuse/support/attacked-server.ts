import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { openPersistence } from '@petstore/persistence';
import { createTemporaryFolder, createTestRedis, PATIENCE_MS, startPostgresServer } from '@petstore/testing';
import { SpawnedServer } from '../../support/spawned-server.ts';

/** A server as in production, on a PostgreSQL and a Redis of its own. */
export async function startAttackedServer(environment: Record<string, string> = {}) {
  await using resources = new AsyncDisposableStack();
  const { path: folder } = resources.use(createTemporaryFolder());
  const postgres = resources.use(await startPostgresServer());
  const { url: redisUrl } = resources.use(await createTestRedis());
  const memory = createMemorySocket(folder);
  const server = resources.use(
    new SpawnedServer(join(folder, 'data'), {
      DATABASE_URL: postgres.url,
      REDIS_URL: redisUrl,
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
      ...memory.environment,
      ...environment,
    }),
  );
  const port = Number(new URL(await server.url()).port);
  const persistence = resources.use(openPersistence({ databaseUrl: postgres.url, patienceMs: PATIENCE_MS }));
  const held = resources.move();
  return {
    server,
    port,
    postgres,
    persistence,
    readMemory: memory.readMemory,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Requests on kept-alive connections. @returns their statuses */
export function createCaller(port: number) {
  const agent = new Agent({ keepAlive: true });
  return (path: string, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      request({ port, path, headers, agent }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', reject);
      })
        .on('error', reject)
        .end();
    });
}

export const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

interface MemorySocket {
  /** What a server is started with, so that it reports its memory. */
  readonly environment: Record<string, string>;
  /**
   * How many bytes the server still refers to, once its garbage is collected. How much garbage the engine leaves lying
   * before that depends on the state of the engine, not on what the server keeps.
   */
  readonly readMemory: () => Promise<number>;
}

/** A Unix socket on which a spawned server reports its memory. */
function createMemorySocket(folder: string): MemorySocket {
  const socketPath = join(folder, 'memory');
  return {
    environment: {
      NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'report-memory.ts'))}`,
      MEMORY_SOCKET: socketPath,
    },
    readMemory: async () => {
      const [response] = await once(request({ socketPath }).end(), 'response');
      return Number(await text(response));
    },
  };
}
