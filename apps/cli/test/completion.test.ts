import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { petstore } from './support.ts';

let folder: ReturnType<typeof createTemporaryFolder>;
let script: string;
beforeAll(async () => {
  folder = createTemporaryFolder();
  writeFileSync(join(folder.path, 'orders.csv'), '');
  mkdirSync(join(folder.path, 'old'));
  writeFileSync(join(folder.path, 'old/orders.ndjson'), '');
  ({ stdout: script } = await petstore(['completion', 'bash']));
});
afterAll(() => folder[Symbol.dispose]());

/** What bash offers for the last of some words, in a folder with files; if it is nothing, bash suggests files. */
function completionsOf(...words: string[]): readonly string[] {
  const quoted = ['petstore', ...words].map((word) => `'${word}'`).join(' ');
  const source = `${script}
COMP_WORDS=(${quoted}) COMP_CWORD=${words.length}
$(complete -p petstore | sed 's/.* -o default .*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', source], { cwd: folder.path, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

test.each<[readonly string[], readonly string[]]>([
  [['ke'], ['keys']],
  [
    ['keys', 'r'],
    ['rotate', 'revoke'],
  ],
  [
    ['keys', 'create', '--plan', ''],
    ['free', 'pro', 'business', 'enterprise'],
  ],
  [['keys', 'create', '--plan', 'pro', '--i'], ['--internal']],
  [['keys', 'create', '--name', 'keys', '--ex'], ['--expires']],
  [['completion', 'f'], ['fish']],
  [['orders', 'import', ''], []],
  [['pets', 'export', './old/'], []],
])('bash completes %j', (words, offered) => {
  expect(completionsOf(...words)).toEqual(offered);
});

test('the Tab key carries out nothing of what was typed', () => {
  const before = readdirSync(folder.path);
  completionsOf('orders', 'export', '-', '>', 'orders.csv', '');
  completionsOf('keys', 'create', '--name', '"$(touch made)"', '`touch made`', '--pl');
  expect(readdirSync(folder.path)).toEqual(before);
  expect(readFileSync(join(folder.path, 'orders.csv'), 'utf8')).toBe('');
});

test.each(['zsh', 'fish'])('%s has a script that knows the same', async (shell) => {
  const { code, stdout, stderr } = await petstore(['completion', shell]);
  expect([code, stderr]).toEqual([0, '']);
  const words = new Set(stdout.match(/[a-z-]{3,}/g));
  const known = script.match(/choices='[^']+'/g)?.flatMap((choices) => choices.match(/[a-z-]{3,}/g) ?? []) ?? [];
  expect(known.length).toBeGreaterThan(50);
  expect(known.filter((word) => word !== 'choices' && !words.has(word))).toEqual([]);
});

test('another shell is refused by name', async () => {
  const { code, stderr } = await petstore(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
});
