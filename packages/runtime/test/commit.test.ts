import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readCommit } from '../src/index.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

test('a checkout tells its commit, and files without a repository none', () => {
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%H'], { cwd: ROOT, encoding: 'utf8' });
  // Git does not trust the checkout of another user.
  const isTold = status === 0 && existsSync(resolve(ROOT, '.git'));
  expect(readCommit()).toBe(isTold ? stdout.trim() : undefined);
});
