import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPostgresBinaries } from '../postgres/postgres-binaries.ts';
import {
  findRunningPostgres,
  initialiseCluster,
  isInitialised,
  POSTGRES_USER,
  type PostgresCluster,
  type PostgresParameters,
  startPostgres,
  stopPostgres,
} from '../postgres/postgres-cluster.ts';
import { findUnprivilegedUser, type UnprivilegedUser } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';
import { prepareDataFolder } from './data-folder.ts';
import { type EmbeddedServer, type SharedServerAccess, type UseOptions, useSharedServer } from './shared-server.ts';

/** For a small machine that does other things too. What is committed is on the disk. */
const PARAMETERS: PostgresParameters = {
  max_connections: 100,
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  random_page_cost: 1.1,
  // There are no replicas, and no statement here is slow enough to be worth compiling.
  wal_level: 'minimal',
  max_wal_senders: 0,
  jit: 'off',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** See `openEmbeddedPostgres`. */
export async function useEmbeddedPostgres(dataFolder: string, options: UseOptions): Promise<EmbeddedServer<string>> {
  prepareDataFolder(dataFolder);
  const folder = clusterFolder(dataFolder);
  const cluster: PostgresCluster = {
    binaries: await findPostgresBinaries(),
    folder,
    logFile: join(dataFolder, 'postgres.log'),
    passwordFile: join(dataFolder, 'postgres.password'),
    user: findClusterUser(folder),
  };
  const {
    place: port,
    pid,
    release,
  } = await useSharedServer(
    {
      ...findEmbeddedPostgres(dataFolder),
      findFormer: async () => undefined,
      async start(lastingPort?: number) {
        ensurePassword(cluster);
        if (!isInitialised(cluster)) await initialiseCluster(cluster, { flush: true });
        const { port, process } = await startPostgres(cluster, PARAMETERS, lastingPort);
        return { place: port, process };
      },
    },
    options,
  );
  const password = readPassword(cluster);
  return {
    address: `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/postgres`,
    pid,
    release,
  };
}

/** The PostgreSQL below a data folder, as somebody else may have started it. */
export const findEmbeddedPostgres = (dataFolder: string): SharedServerAccess<number> => ({
  dataFolder,
  name: 'postgres',
  async find() {
    const running = await findRunningPostgres(clusterFolder(dataFolder));
    return running && { place: running.port, process: running.process };
  },
  stop: stopPostgres,
});

const clusterFolder = (dataFolder: string): string => join(dataFolder, 'postgres');

/** A folder that exists is run by its owner: root may take over what an ordinary user began. */
function findClusterUser(folder: string): UnprivilegedUser | undefined {
  const user = findUnprivilegedUser();
  if (user === undefined || !existsSync(folder)) return user;
  const { uid, gid } = statSync(folder);
  return uid === 0 || uid === user.uid ? user : { name: `user ${uid}`, uid, gid };
}

function ensurePassword({ passwordFile, user, ...cluster }: PostgresCluster): void {
  if (existsSync(passwordFile)) return;
  if (isInitialised({ passwordFile, user, ...cluster })) {
    throw new RuntimeError(`The file ${passwordFile} is missing, and without it the database cannot be opened.`);
  }
  writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
}

function readPassword({ passwordFile }: PostgresCluster): string {
  try {
    return readFileSync(passwordFile, 'utf8').trim();
  } catch (cause) {
    throw new RuntimeError(`The file ${passwordFile} cannot be read; the data folder may belong to another user.`, {
      cause,
    });
  }
}
