import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { runGit } from './git.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/**
 * The full hash of the commit that runs; in a checkout, even a changed one, the commit that is checked out. A build of the
 * deployed folder replaces this module by the commit that was built.
 *
 * @returns `undefined` if there is no git, or the files are not a checkout, as in an archive
 */
export function readCommit(): string | undefined {
  // Without this check, git would find a repository that merely contains the folder.
  if (!existsSync(resolve(ROOT, '.git'))) return undefined;
  try {
    return runGit(ROOT, 'rev-parse', 'HEAD');
  } catch {
    return undefined; // git is missing, or distrusts a checkout of another user
  }
}
