import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiKeyId } from '@petstore/domain';
import { createTemporaryFolder } from '@petstore/testing';
import { expect, test } from 'vitest';
import { demoKeysFile, readDemoKeys, writeDemoKeys } from '../src/embedded/demo-keys.ts';

test('the demo keys are written and read through no link, which another user may have put there', () => {
  using folder = createTemporaryFolder();
  const other = join(folder.path, 'other');
  writeFileSync(other, '[]');
  const file = demoKeysFile(folder.path);
  symlinkSync(other, file);
  expect(() => readDemoKeys(folder.path)).toThrow(`${file} is a symbolic link, which is not followed. Remove it.`);
  rmSync(file);
  symlinkSync(other, `${file}.new`);
  writeDemoKeys(folder.path, [{ id: 'aaaaaaaa' as ApiKeyId, plan: 'free', readOnly: false, text: 'pso_demo' }]);
  expect(readFileSync(other, 'utf8')).toBe('[]');
  expect(readDemoKeys(folder.path)).toHaveLength(1);
});
