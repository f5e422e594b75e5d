import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';
import type {} from './global-setup.ts'; // declares what is injected
import { killTree, signalTree } from './process-tree.ts';
import {
  createTestCluster,
  type RedisServerOptions,
  startTestRedis,
  TEST_POSTGRES_PARAMETERS,
} from './server-programs.ts';
import {
  type PostgresCluster,
  type PostgresParameters,
  startPostgres,
  stopPostgres,
} from './servers/postgres-cluster.ts';
import { stopRedis } from './servers/redis-process.ts';
import type { ServerProcess } from './servers/server-process.ts';
import { createTemporaryFolder, endWithTestRun, type TemporaryFolder } from './temporary-folder.ts';

/** A server for one test, which may stop, kill or freeze it. Its port stays the same. Disposing of it ends it and deletes its data. */
export interface PrivateServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Ends it in order, data written. */
  stop(): Promise<void>;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Freezes it with its children (only on Linux with them): connections stay open, and nothing is sent. */
  pause(): void;
  resume(): void;
  /** Runs it again, on the same port and with what it kept on its disk. Ends it first where it still runs. */
  restart(): Promise<void>;
}

/** Starts a private Redis server on a port of the loopback interface. It takes about 20 ms. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<PrivateServer> {
  const folder = createTemporaryFolder();
  const port = options.port ?? (await findLastingPort());
  return runPrivateServer({
    port,
    url: `redis://127.0.0.1:${port}`,
    start: async () => (await startTestRedis(folder.path, { ...options, port })).process,
    stop: stopRedis,
    register: endWithTestRun,
    removeData: () => folder[Symbol.dispose](),
  });
}

/** What a standby is made from. */
export interface PrivatePostgres extends PrivateServer {
  readonly cluster: PostgresCluster;
  readonly parameters: PostgresParameters;
}

/** Starts a private PostgreSQL server on a port of the loopback interface. It takes about 80 ms. */
export async function startPostgresServer(parameters: PostgresParameters = {}): Promise<PrivatePostgres> {
  const folder = createTemporaryFolder();
  const seed = inject('sharedServers').clusterSeed;
  const { cluster, urlAt } = await createTestCluster(join(folder.path, 'postgres'), seed);
  const port = await findLastingPort();
  const all = { ...TEST_POSTGRES_PARAMETERS, ...parameters };
  return runPrivatePostgres({ cluster, parameters: all, port, url: urlAt(port), folder });
}

interface PostgresToRun {
  readonly cluster: PostgresCluster;
  readonly parameters: PostgresParameters;
  readonly port: number;
  readonly url: string;
  readonly folder: TemporaryFolder;
}

/** Runs PostgreSQL on a data folder that exists. */
export async function runPrivatePostgres(options: PostgresToRun): Promise<PrivatePostgres> {
  const { cluster, parameters, port, url, folder } = options;
  const server = await runPrivateServer({
    port,
    url,
    start: async () => (await startPostgres(cluster, parameters, port)).process,
    stop: stopPostgres,
    register: endWithTestRun,
    removeData: () => folder[Symbol.dispose](),
  });
  return Object.assign(server, { cluster, parameters });
}

interface ServerControl {
  readonly port: number;
  readonly url: string;
  start(): Promise<ServerProcess>;
  stop(server: ServerProcess): Promise<void>;
  /** Called when a process has begun; returns what to call when it has ended. */
  register(pid: number): () => void;
  removeData(): void;
}

export async function runPrivateServer(control: ServerControl): Promise<PrivateServer> {
  let server = await control.start();
  let unregister = control.register(server.pid);

  async function end(how: (running: ServerProcess) => Promise<void> | void): Promise<void> {
    if (!server.isRunning()) return;
    signalTree(server, 'SIGCONT'); // a frozen process obeys only SIGKILL
    await how(server);
    await server.waitForExit();
    unregister();
  }
  const stop = () => end(control.stop);
  const kill = () => end(killTree);

  return {
    port: control.port,
    url: control.url,
    get pid() {
      return server.pid;
    },
    stop,
    kill,
    pause: () => void signalTree(server, 'SIGSTOP'),
    resume: () => void signalTree(server, 'SIGCONT'),
    async restart() {
      await stop();
      server = await control.start();
      unregister = control.register(server.pid);
    },
    async [Symbol.asyncDispose]() {
      await kill();
      control.removeData();
    },
  };
}

/**
 * Below the ports that systems choose for connections and listeners, from 32768 on Linux and 49152 on macOS. So is the
 * port 10,000 above, where a Redis of a cluster listens to the others.
 */
const FIRST_PORT = 12_000;
const PORT_END = 22_000;

/**
 * A TCP port of the loopback interface that stays free while its server is stopped: the system assigns it to no listener,
 * and to no client, which could become connected to itself.
 */
export async function findLastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, PORT_END);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
