import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findPostgresBinaries } from '../postgres/postgres-binaries.ts';
import {
  findRunningPostgres,
  initialiseCluster,
  isInitialised,
  type PostgresCluster,
  type PostgresParameters,
  startPostgres,
  stopPostgres,
} from '../postgres/postgres-cluster.ts';
import { prepareServiceRole, SERVICE_ROLE } from '../postgres/service-role.ts';
import { findUnprivilegedUser, type UnprivilegedUser } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';
import { prepareDataFolder } from './data-folder.ts';
import {
  type EmbeddedPostgresOptions,
  type EmbeddedServer,
  type SharedServerAccess,
  useSharedServer,
} from './shared-server.ts';

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
export async function useEmbeddedPostgres(
  dataFolder: string,
  { mayCreate = true, onCreate, ...options }: EmbeddedPostgresOptions,
): Promise<EmbeddedServer<string>> {
  if (!mayCreate && isMissing(dataFolder)) throw noDatabase(dataFolder);
  prepareDataFolder(dataFolder);
  const folder = clusterFolder(dataFolder);
  const cluster: PostgresCluster = {
    binaries: await findPostgresBinaries(),
    folder,
    logFile: join(dataFolder, 'postgres.log'),
    passwordFile: join(dataFolder, 'postgres.password'),
    user: findClusterUser(folder),
  };
  const servicePassword = join(dataFolder, 'postgres-service.password');
  const {
    location: port,
    pid,
    release,
  } = await useSharedServer(
    {
      ...findEmbeddedPostgres(dataFolder),
      async findFormer() {
        // Earlier releases had no role but the superuser.
        if (existsSync(servicePassword) || !isInitialised(cluster)) return undefined;
        return (await findRunningPostgres(folder))?.process;
      },
      async start(lastingPort?: number) {
        if (!isInitialised(cluster)) {
          if (!mayCreate) throw noDatabase(dataFolder);
          onCreate?.();
        }
        await prepareCluster(cluster, servicePassword, options.signal);
        options.signal?.throwIfAborted();
        const { port, process } = await startPostgres(cluster, PARAMETERS, lastingPort);
        return { location: port, process };
      },
    },
    options,
  );
  return {
    address: `postgres://${SERVICE_ROLE}:${readPassword(servicePassword)}@127.0.0.1:${port}/postgres`,
    pid,
    release,
  };
}

const noDatabase = (dataFolder: string): RuntimeError =>
  new RuntimeError(
    `There is no database in ${dataFolder}, and DATABASE_URL is not set. Set DATABASE_URL, or DATA_DIR to where it is.`,
  );

/** A folder that cannot be read may be there. */
function isMissing(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** The PostgreSQL below a data folder, whichever process started it. */
export const findEmbeddedPostgres = (dataFolder: string): SharedServerAccess<number> => ({
  dataFolder,
  name: 'postgres',
  async find() {
    const running = await findRunningPostgres(clusterFolder(dataFolder));
    return running && { location: running.port, process: running.process };
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

/** Makes what is missing: the data folder, and the role that we log in as. */
async function prepareCluster(
  cluster: PostgresCluster,
  servicePassword: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { passwordFile, user } = cluster;
  if (!isInitialised(cluster)) {
    writeFileSync(passwordFile, newPassword(), { mode: 0o600 });
    if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
    await initialiseCluster(cluster, { flush: true, signal });
  }
  if (existsSync(servicePassword)) return;
  const password = newPassword();
  await prepareServiceRole(cluster, password);
  // Last, and in one step, so that a start that was cut off is done anew.
  writeFileSync(`${servicePassword}.new`, password, { mode: 0o600 });
  // In an ordinary user's folder root gives the file to that user.
  if (process.geteuid?.() === 0) giveToOwnerOf(dirname(servicePassword), `${servicePassword}.new`);
  renameSync(`${servicePassword}.new`, servicePassword);
}

function giveToOwnerOf(folder: string, file: string): void {
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}

const newPassword = (): string => randomBytes(24).toString('base64url');

function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new RuntimeError(`The file ${file} cannot be read; the data folder may belong to another user.`, {
      cause,
    });
  }
}
