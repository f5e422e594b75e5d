// For tests and benchmarks, which run their own servers outside a data folder.

export {
  BUILTIN_LOCALE,
  type Cluster,
  createCluster,
  type PostgresParameters,
  postgresProgram,
  SUPERUSER,
} from './postgres/cluster.ts';
export { findPostgresPrograms } from './postgres/postgres-programs.ts';
export { findExecutable } from './process/find-executable.ts';
export { runTool, type ServerProgram, tryToStart } from './process/server-process.ts';
export { findUnprivilegedUser, type UnprivilegedUser } from './process/unprivileged-user.ts';
