// For tests and benchmarks, which run their own servers outside a data folder.

export {
  BUILTIN_LOCALE,
  type Cluster,
  createCluster,
  findPostgresPrograms,
  type PostgresParameters,
  postgresProgram,
  SUPERUSER,
} from './embedded/postgres-cluster.ts';
export { findExecutable, REDIS_STARTER, UNPACKED_REDIS_FOLDER } from './process/find-executable.ts';
export { type ServerProgram, startServer } from './process/server-process.ts';
export { findUnprivilegedUser, type UnprivilegedUser } from './process/unprivileged-user.ts';
