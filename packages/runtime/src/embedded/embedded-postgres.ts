import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '../errors.ts';
import { awaitExit, startServer } from '../process/server-process.ts';
import { type DataFolder, findDataFolder, isListening, makePrivate } from './data-folder.ts';
import * as postgres from './postgres-cluster.ts';

/** The PostgreSQL below a data folder, which belongs to one server. */
export interface EmbeddedPostgres {
  /** The address. Its role owns the schema `public`, and is no superuser. */
  readonly url: string;
  /** Stops it, also if commands use it. */
  stop(): Promise<void>;
}

const SERVICE_ROLE = 'petstore_service';
/** The service's role owns everything in the schema, and has no other rights. */
const CREATE_ROLE = `CREATE ROLE ${SERVICE_ROLE} LOGIN;\nALTER SCHEMA public OWNER TO ${SERVICE_ROLE};\n`;

/** For a small machine that does other things too. Commits reach the disk, and there are no replicas. */
const PARAMETERS = {
  listen_addresses: '',
  port: 5432,
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  log_checkpoints: 'off',
  random_page_cost: 1.1,
  jit: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  timezone: 'UTC',
  log_timezone: 'UTC',
};

const socketOf = ({ socketFolder }: DataFolder): string => join(socketFolder, `.s.PGSQL.${PARAMETERS.port}`);

/**
 * Runs PostgreSQL below a data folder that this server has claimed; its data is created the first time. One that a killed
 * server left is taken over.
 *
 * @param onEnd called if PostgreSQL ends by itself, as when it is killed. It is not started again
 * @param signal aborts a start in progress, once the data is created
 * @throws RuntimeError, of one line, if it cannot run
 * @throws AbortError
 */
export async function openEmbeddedPostgres(
  dataFolder: DataFolder,
  onEnd: () => void,
  signal: AbortSignal,
): Promise<EmbeddedPostgres> {
  const { path, user, socketFolder } = dataFolder;
  const folder = join(path, 'postgres');
  const cluster = { programs: postgres.findPostgresPrograms(), folder, logFile: `${folder}.log`, user };
  if (!existsSync(folder)) {
    // The socket needs no password, because only its user can reach it.
    await postgres.createCluster(cluster, ['--auth=trust', ...postgres.BUILTIN_LOCALE], CREATE_ROLE);
    signal.throwIfAborted();
  }
  makePrivate(socketFolder, user);
  if (postgres.isStopping(cluster)) await postgres.stopCluster(cluster); // a killed server did not wait for it
  const unix_socket_directories = `"${socketFolder.replaceAll('"', '""')}"`;
  const program = postgres.postgresProgram(cluster, { ...PARAMETERS, unix_socket_directories });
  const isLeft = await isListening(socketOf(dataFolder));
  const server = isLeft ? undefined : await startServer(program, signal);
  server?.once('exit', onEnd);
  return {
    url: urlOf(dataFolder),
    async stop() {
      server?.off('exit', onEnd);
      await postgres.stopCluster(cluster);
      await awaitExit(server);
      if (!socketFolder.startsWith(path)) rmSync(socketFolder, { recursive: true, force: true });
    },
  };
}

/**
 * The address of the PostgreSQL that a server runs below a data folder.
 *
 * @throws RuntimeError, of one line, if none does
 */
export async function findEmbeddedPostgres(path: string): Promise<string> {
  const folder = findDataFolder(path);
  if (folder !== undefined && (await isListening(socketOf(folder)))) return urlOf(folder);
  const message = `No server runs on the data folder ${path}, and DATABASE_URL is not set.`;
  throw new RuntimeError(`${message} Start one with "npx --yes pnpm@12 start", or set DATABASE_URL.`);
}

/** Removes libpq's variables (PG...), which concern other databases, from the environment of this process. */
function urlOf({ socketFolder }: DataFolder): string {
  // biome-ignore lint/style/noProcessEnv: they are taken away where pg reads them
  const environment = process.env;
  for (const name of Object.keys(environment)) if (/^PG[A-Z_]+$/.test(name)) delete environment[name];
  return `postgres://${SERVICE_ROLE}@localhost/postgres?host=${encodeURIComponent(socketFolder)}`;
}
