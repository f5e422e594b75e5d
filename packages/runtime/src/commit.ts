import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

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
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8', stdio: [...stdio] }).trim();
  } catch {
    return undefined; // git is missing, or distrusts a checkout of another user
  }
}
