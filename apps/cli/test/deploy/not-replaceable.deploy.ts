// Files whose place is not ours to give away are refused. Mounts and other users are for root alone.
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FileReplacement } from '../../src/files/replace-file.ts';
import { MAIN, useTestCommandLine } from '../support.ts';

const commandLine = useTestCommandLine();
const pathOf = (name: string) => join(commandLine.folder, name);

const NOBODY = 65_534;
const MODULE = import.meta.resolve('../../src/files/replace-file.ts');

/** What is said to a user without rights who begins to replace a file. */
const saidToNobody = (path: string): string => {
  chmodSync(commandLine.folder, 0o755);
  const script = `const [, module, path] = process.argv;
    const { FileReplacement } = await import(module);
    try { new FileReplacement(path); } catch ({ message }) { console.log(message); }`;
  const args = ['--input-type=module', '-e', script, MODULE, path];
  const { stdout, stderr } = spawnSync(process.execPath, args, { uid: NOBODY, gid: NOBODY, encoding: 'utf8' });
  return stdout + stderr;
};

test('a file that is mounted by itself is refused before any work', () => {
  const path = pathOf('a mount.ndjson');
  writeFileSync(path, '');
  const script = `mount -t tmpfs none /mnt && touch /mnt/file && mount --bind /mnt/file '${path}' && exec "$0" "$@"`;
  const args = ['-m', 'sh', '-c', script, process.execPath, MAIN, 'orders', 'export', path];
  const env = { ...process.env, DATABASE_URL: 'postgres://user@127.0.0.1:1/none' };
  const { status, stderr } = spawnSync('unshare', args, { env, encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, `petstore: ${path} cannot be written: it is mounted by itself\n`]);
});

test.each([
  ['in a folder that is not writable', 0o755, 'its folder is not writable'],
  ['of another user', 0o1777, 'its owner or group is another'],
])('a file %s is refused, and nothing is left beside it', (name, mode, reason) => {
  const folder = pathOf(name);
  mkdirSync(folder);
  chmodSync(folder, mode);
  const path = join(folder, 'orders.csv');
  writeFileSync(path, 'as it was');
  expect(saidToNobody(path)).toBe(`${path} cannot be written: ${reason}\n`);
  expect([readdirSync(folder), readFileSync(path, 'utf8')]).toEqual([['orders.csv'], 'as it was']);
});

test('a new file in a folder that is not writable is refused by that name', () => {
  const path = pathOf('new.csv');
  expect(saidToNobody(path)).toBe(`${path} cannot be written: its folder is not writable\n`);
});

test('root leaves a file to its owner', async () => {
  const path = pathOf('of nobody.csv');
  writeFileSync(path, '');
  chownSync(path, NOBODY, NOBODY);
  chmodSync(path, 0o640);
  async function* texts() {
    yield 'orders';
  }
  using replacement = new FileReplacement(path);
  await replacement.write(texts());
  const { uid, gid, mode } = statSync(path);
  expect([uid, gid, mode & 0o777, readFileSync(path, 'utf8')]).toEqual([NOBODY, NOBODY, 0o640, 'orders']);
});
