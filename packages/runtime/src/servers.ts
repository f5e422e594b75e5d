// What tests and benchmarks run servers of their own with, elsewhere than below a data folder.

export { findPostgresPrograms, type PostgresPrograms } from './embedded/postgres-programs.ts';
export { commandAsUser, findUnprivilegedUser, type UnprivilegedUser } from './process/unprivileged-user.ts';
