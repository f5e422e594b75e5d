import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../../..');
const folder = mkdtempDisposableSync(join(tmpdir(), 'newcomer-'));
const checkout = join(folder.path, 'checkout');
/** Without the programs of this checkout, and with none of what its package manager has set. */
const env = {
  HOME: folder.path,
  PATH: process.env['PATH']
    ?.split(':')
    .filter((part) => !part.includes('node_modules'))
    .join(':'),
};

beforeAll(() => {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, checkout], {
    env: { ...env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' },
  });
});
afterAll(() => folder[Symbol.dispose]());

test.each([
  'npm install',
  'npm start',
  'npm test',
  'node apps/server/src/main.js',
  'node apps/cli/src/main.js',
  './petstore',
])('in a checkout in which nothing is installed "%s" names what to type instead', (command) => {
  const [program = '', ...args] = command.split(' ');
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: checkout, env, encoding: 'utf8' });
  expect(status).not.toBe(0);
  expect(stdout + stderr).toContain('npx --yes pnpm@12');
});
