import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');

/**
 * The commit that runs, whole; of a checkout, changed or not, the one that is checked out. A build of the folder that is
 * deployed replaces this module by the commit that was built.
 *
 * @returns `undefined` if there is no git, or if the files are no checkout, as those of an archive
 */
export function readCommit(): string | undefined {
  // Without a look of our own git would find a repository that the folder merely lies in.
  if (!existsSync(resolve(ROOT, '.git'))) return undefined;
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8', stdio: [...stdio] }).trim();
  } catch {
    return undefined; // there is no git, or it does not trust a checkout of another user
  }
}
