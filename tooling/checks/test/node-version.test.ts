import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('packages are judged by the Node that runs them', () => {
  const workspace = readFileSync(join(import.meta.dirname, '../../../pnpm-workspace.yaml'), 'utf8');
  const [, judging] = /^nodeVersion: (\S+)$/m.exec(workspace) ?? [];
  const [, running] = /^ +node: (\d\S+)$/m.exec(workspace) ?? [];
  expect(judging).toBeDefined();
  expect(judging).toBe(running);
});
