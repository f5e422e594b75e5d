import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  findPostgresBinaries,
  findUnprivilegedUser,
  initialiseCluster,
  POSTGRES_USER,
  type PostgresCluster,
  type PostgresParameters,
} from '@petstore/runtime/servers';

/**
 * Nothing here must survive a crash of the machine, so nothing waits for a disk. What was committed survives the death of
 * the server all the same: it is with the system by then.
 */
export const TEST_POSTGRES_PARAMETERS: PostgresParameters = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  // Hundreds of short-lived databases would each have their turn to be looked at.
  autovacuum: 'off',
  max_connections: 400,
  shared_buffers: '128MB',
  jit: 'off',
  timezone: 'UTC',
};

export interface TestCluster {
  readonly cluster: PostgresCluster;
  /** The superuser's address of the database `postgres`. */
  urlAt(port: number): string;
}

/** Makes an empty PostgreSQL data folder below a folder that does not exist yet. */
export async function createTestCluster(folder: string): Promise<TestCluster> {
  mkdirSync(folder);
  chmodSync(folder, 0o711); // the server may run as another user
  const user = findUnprivilegedUser();
  const password = randomBytes(12).toString('hex');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  const cluster: PostgresCluster = {
    binaries: await findPostgresBinaries(),
    folder: join(folder, 'data'),
    logFile: join(folder, 'postgres.log'),
    passwordFile,
    user,
  };
  await initialiseCluster(cluster, { flush: false });
  return { cluster, urlAt: (port) => `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/postgres` };
}
