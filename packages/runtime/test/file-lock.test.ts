import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { tryLock } from '../src/embedded/file-lock.ts';

const MODULE = pathToFileURL(join(import.meta.dirname, '../src/embedded/file-lock.ts')).href;

/** Whether another process can take a lock, which it then holds no longer. */
function canBeLocked(file: string, mode: string, prelude = ':'): boolean {
  const source = `const { tryLock } = await import(${JSON.stringify(MODULE)});
    console.log(tryLock(${JSON.stringify(file)}, ${JSON.stringify(mode)}) !== undefined);`;
  const args = ['-c', `${prelude}; exec "$0" "$@"`, process.execPath, '--input-type=module', '--eval', source];
  return execFileSync('/bin/sh', args, { encoding: 'utf8' }) === 'true\n';
}

test('a lock excludes other processes, and shared ones do not exclude each other', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'petstore-lock-'));
  const file = join(folder.path, 'lock');
  {
    using _lock = tryLock(file, 'exclusive');
    expect([canBeLocked(file, 'exclusive'), canBeLocked(file, 'shared')]).toEqual([false, false]);
  }
  using _lock = tryLock(file, 'shared');
  expect([canBeLocked(file, 'exclusive'), canBeLocked(file, 'shared')]).toEqual([false, true]);
});

test.each(['exclusive', 'shared'])('a lock (%s) is taken where nothing can be written, as on a full disk', (mode) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'petstore-lock-'));
  const file = join(folder.path, 'lock');
  writeFileSync(file, '');
  expect(canBeLocked(file, mode, 'ulimit -f 0')).toBe(true);
});
