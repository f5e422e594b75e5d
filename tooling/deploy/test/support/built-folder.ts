import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll } from 'vitest';
import { buildFolder } from '../../src/build-folder.ts';

/** Builds the folder before the tests of a file, away from the workspace. @returns where a file of it lies, or the folder */
export function useBuiltFolder(): (file?: string) => string {
  const temporary = createTemporaryFolder();
  const folder = join(temporary.path, 'petstore');
  beforeAll(() => buildFolder(folder));
  afterAll(() => temporary[Symbol.dispose]());
  return (file = '') => join(folder, file);
}
