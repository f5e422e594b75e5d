import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MAIN = join(import.meta.dirname, '../src/main.ts');

test('asked to watch, the command names the one that does, and runs nothing', () => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [MAIN, '--filter=@petstore/domain', '--watch'], {
    encoding: 'utf8',
  });
  expect(stderr).toBe(
    'This command runs the tests once. To run them after each change: ' +
      'pnpm exec turbo watch test --filter=@petstore/domain\n',
  );
  expect([status, stdout]).toEqual([2, '']);
});
