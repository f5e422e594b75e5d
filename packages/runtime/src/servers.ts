// For tests and benchmarks, which run their own servers outside a data folder.

export { findPostgresPrograms, type PostgresPrograms } from './embedded/postgres-programs.ts';
export { commandAsUser, findUnprivilegedUser, type UnprivilegedUser } from './process/unprivileged-user.ts';
