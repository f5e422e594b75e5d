import { mkdirSync, mkdtempDisposableSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { runGit } from '../src/git.ts';
import { readCommit } from '../src/index.ts';

afterEach(() => void vi.unstubAllEnvs());

/** As git has it for a hook of the repository of a folder. */
function stubHookOf(folder: string): void {
  for (const [name, path] of Object.entries({
    GIT_DIR: '.git',
    GIT_WORK_TREE: '.',
    GIT_INDEX_FILE: '.git/index',
    GIT_OBJECT_DIRECTORY: '.git/objects',
    GIT_PREFIX: '',
  })) {
    vi.stubEnv(name, join(folder, path));
  }
}

test('a hook of another repository makes git not look there', () => {
  using folder = mkdtempDisposableSync(join(realpathSync(tmpdir()), 'git-'));
  const [own, other] = ['own', 'other'].map((name) => join(folder.path, name)) as [string, string];
  for (const repository of [own, other]) {
    mkdirSync(repository);
    runGit(repository, 'init', '--quiet');
  }
  const commit = readCommit();
  stubHookOf(other);
  const places = ['--absolute-git-dir', '--show-toplevel', '--path-format=absolute', '--git-path', 'index'];
  expect(runGit(own, 'rev-parse', ...places, '--git-path', 'objects').split('\n')).toEqual([
    join(own, '.git'),
    own,
    join(own, '.git/index'),
    join(own, '.git/objects'),
  ]);
  expect(readCommit()).toBe(commit);
});

test('what git says of a failure is in the error', () => {
  expect(() => runGit(tmpdir(), 'no-such-command')).toThrow("git: 'no-such-command' is not a git command");
});
