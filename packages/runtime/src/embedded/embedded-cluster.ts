import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { BUILTIN_LOCALE, type Cluster, createCluster, postgresProgram } from '../postgres/cluster.ts';
import { findPostgresPrograms } from '../postgres/postgres-programs.ts';
import { findSocketFolder, findUserOf } from '../process/private-folder.ts';
import type { ServerProgram } from '../process/server-process.ts';

/** The PostgreSQL below a data folder. */
export interface EmbeddedCluster extends Cluster {
  /** The folder of its socket, which only its user can enter. */
  readonly socketFolder: string;
}

/** The name of the socket, which ends in the port. */
export const SOCKET = '.s.PGSQL.5432';

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

/** @param dataFolder an existing folder */
export function findCluster(dataFolder: string): EmbeddedCluster {
  const root = realpathSync(dataFolder);
  const folder = join(root, 'postgres');
  return {
    programs: findPostgresPrograms(),
    folder,
    socketFolder: findSocketFolder(folder, SOCKET),
    logFile: join(root, 'postgres.log'),
    user: findUserOf(folder),
  };
}

/** Makes the data folder. The socket needs no password, because only its user can reach it. @throws RuntimeError */
export const createEmbeddedCluster = (cluster: EmbeddedCluster): Promise<void> =>
  createCluster(cluster, ['--auth=trust', ...BUILTIN_LOCALE]);

/** The server, to be started now. */
export function embeddedProgram(cluster: EmbeddedCluster): ServerProgram {
  const unix_socket_directories = `"${cluster.socketFolder.replaceAll('"', '""')}"`;
  return postgresProgram(cluster, { ...PARAMETERS, unix_socket_directories });
}
