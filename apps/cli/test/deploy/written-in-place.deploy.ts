// Files whose name is not ours to give away are written in place. Mounts and other users are for root alone.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MAIN, useTestCommandLine } from '../support.ts';

const commandLine = useTestCommandLine();
const pathOf = (name: string) => join(commandLine.folder, name);

const NOBODY = 65_534;
const MODULE = import.meta.resolve('../../src/files/replace-file.ts');

/** What a user without rights prints who imports the module, whose URL is `module`. */
const printedByNobody = (script: string, path: string): string => {
  chmodSync(commandLine.folder, 0o755);
  const args = ['--input-type=module', '-e', `const [, module, path] = process.argv; ${script}`, MODULE, path];
  return spawnSync(process.execPath, args, { uid: NOBODY, gid: NOBODY, encoding: 'utf8' }).stdout;
};

test('a file that is mounted by itself is written in place, and that is said', async () => {
  const order = '{"id":1,"petId":-1,"quantity":1,"complete":false,"status":"pending"}\n';
  expect(await commandLine.json(['orders', 'import', '-'], { stdin: order })).toMatchObject({ inserted: 1 });
  const [mounted, path] = [pathOf('host.ndjson'), pathOf('a mount.ndjson')];
  writeFileSync(mounted, '');
  writeFileSync(path, '');
  const script = `mount --bind '${mounted}' '${path}' && exec "$0" "$@"`;
  const args = ['-m', 'sh', '-c', script, process.execPath, MAIN, 'orders', 'export', path];
  const env = { ...process.env, ...commandLine.environment };
  const { status, stderr } = spawnSync('unshare', args, { env, encoding: 'utf8' });
  const said = `${path} is overwritten in place, because it is mounted by itself: it is incomplete until the end.\n`;
  expect([status, stderr]).toEqual([0, said]);
  expect(readFileSync(mounted, 'utf8')).toBe(order);
  expect(readdirSync(commandLine.folder).filter((file) => file.endsWith('.partial'))).toEqual([]);
});

test.each([
  ['its folder is not writable', 0o755],
  ['it belongs to another user', 0o1777],
])('a file is planned to be written in place because %s', (inPlaceReason, mode) => {
  const folder = pathOf(inPlaceReason);
  mkdirSync(folder);
  chmodSync(folder, mode);
  const path = join(folder, 'orders.csv');
  writeFileSync(path, '');
  const plan = printedByNobody('console.log(JSON.stringify((await import(module)).planFile(path)))', path);
  expect(JSON.parse(plan)).toEqual({
    path,
    isReplaced: false,
    inPlaceReason,
    unfinished: `${path} is incomplete.`,
  });
});

test('a new file in a folder that is not writable is refused by that name', () => {
  const path = pathOf('new.csv');
  const script = `const { planFile, writeFile } = await import(module);
  await writeFile(planFile(path), []).catch(({ message }) => console.log(message));`;
  expect(printedByNobody(script, path)).toBe(`${path} cannot be written: its folder is not writable\n`);
});
