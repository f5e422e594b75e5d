import { execFileSync } from 'node:child_process';

/**
 * Name a repository, or a part of one, before the folder does. Git sets them for its hooks, and so for what these start.
 * https://git-scm.com/docs/git#_environment_variables
 */
const NAMING_A_REPOSITORY = [
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_COMMON_DIR',
  'GIT_DIR',
  'GIT_INDEX_FILE',
  'GIT_NAMESPACE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_PREFIX',
  'GIT_SHALLOW_FILE',
  'GIT_WORK_TREE',
];

/**
 * Runs git on the repository that a folder is in, whichever one the environment names.
 *
 * @returns what it writes to the standard output, without the white space at the end
 * @throws Error with what it writes to the standard error, if it fails or is missing
 */
export function runGit(folder: string, ...args: readonly string[]): string {
  const env = {
    // biome-ignore lint/style/noProcessEnv: PATH and git's configuration belong to the machine, and are no settings of ours
    ...process.env,
    ...Object.fromEntries(NAMING_A_REPOSITORY.map((name) => [name, undefined])),
  };
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}
