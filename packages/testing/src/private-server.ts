import { join } from 'node:path';
import type { PostgresParameters, ServerProgram } from '@petstore/runtime/servers';
import { inject } from 'vitest';
import { findFreePort } from './free-port.ts';
import type {} from './global-setup.ts'; // declares the injected values
import { killServer, signalTree, startServer, stopServer } from './server-process.ts';
import {
  createCluster,
  type PostgresCluster,
  postgresProgram,
  type RedisServerOptions,
  redisProgram,
  TEST_POSTGRES_PARAMETERS,
  urlOf,
} from './server-programs.ts';
import { createTemporaryFolder, endWithTestRun } from './temporary-folder.ts';

/** A server that a test may stop, kill or freeze. Its port stays the same. Disposing of it ends it and deletes its data. */
export interface PrivateServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Stops it in order; its data is written. */
  stop(): Promise<void>;
  /** Ends it like a crash. */
  kill(): Promise<void>;
  /** Freezes it (on Linux with its children): connections stay open, and nothing is sent. */
  pause(): void;
  resume(): void;
  /** Runs it again, with the same port and the data on its disk. Stops it first if it still runs. */
  restart(): Promise<void>;
}

/** Starts a private Redis server on a port of the loopback interface. It takes about 20 ms. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<PrivateServer> {
  const folder = createTemporaryFolder();
  const port = await findFreePort();
  const program = redisProgram(folder.path, port, options);
  return runPrivateServer(program, { port, url: `redis://127.0.0.1:${port}`, folder });
}

/** The source of a standby. */
export interface PrivatePostgres extends PrivateServer {
  readonly cluster: PostgresCluster;
  readonly parameters: PostgresParameters;
}

/** Starts a private PostgreSQL server on a port of the loopback interface. It takes about 80 ms. */
export async function startPostgresServer(parameters: PostgresParameters = {}): Promise<PrivatePostgres> {
  const folder = createTemporaryFolder();
  const cluster = await createCluster(join(folder.path, 'postgres'), inject('sharedServers').seed);
  const port = await findFreePort();
  return runPrivatePostgres({ cluster, parameters: { ...TEST_POSTGRES_PARAMETERS, ...parameters }, port, folder });
}

interface PostgresToRun extends Pick<PrivatePostgres, 'cluster' | 'parameters' | 'port'> {
  readonly folder: Disposable;
}

/** Runs PostgreSQL on an existing data folder. @param options its `folder` is deleted at the end */
export async function runPrivatePostgres({
  cluster,
  parameters,
  port,
  folder,
}: PostgresToRun): Promise<PrivatePostgres> {
  const program = postgresProgram(cluster, port, parameters);
  const server = await runPrivateServer(program, { port, url: urlOf(cluster, port), folder });
  return Object.assign(server, { cluster, parameters });
}

interface Place extends Pick<PrivateServer, 'port' | 'url'> {
  /** Disposed of after the server has ended. */
  readonly folder: Disposable;
}

/** Runs a server that tests can stop, kill and freeze. It ends with the run at the latest. */
export async function runPrivateServer(program: ServerProgram, { port, url, folder }: Place): Promise<PrivateServer> {
  const start = async () => {
    const server = await startServer(program);
    const forget = endWithTestRun(server.pid ?? 0);
    server.once('exit', forget);
    return server;
  };
  let server = await start();
  const stop = () => stopServer(server, program);
  const kill = () => killServer(server);
  return {
    port,
    url,
    get pid() {
      return server.pid ?? 0;
    },
    stop,
    kill,
    pause: () => void signalTree(server, 'SIGSTOP'),
    resume: () => void signalTree(server, 'SIGCONT'),
    async restart() {
      await stop();
      server = await start();
    },
    async [Symbol.asyncDispose]() {
      await kill();
      folder[Symbol.dispose]();
    },
  };
}
