import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** What `pnpm release --dry-run` has built. */
export const RELEASE_FOLDER = join(ROOT, 'dist/release');
/** The name of the release's archive, and of the folder in it. */
export const RELEASE_NAME = `petstore-orders-${version}`;

/** Unpacks the release's folder before the tests of a file. @returns where a file of it lies, or the folder */
export function useBuiltFolder(): (file?: string) => string {
  const temporary = createTemporaryFolder();
  beforeAll(() => {
    execFileSync('tar', ['-xzf', join(RELEASE_FOLDER, `${RELEASE_NAME}.tar.gz`), '-C', temporary.path]);
  });
  afterAll(() => temporary[Symbol.dispose]());
  return (file = '') => join(temporary.path, RELEASE_NAME, file);
}
