import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { petstore } from './support.ts';

const scriptOf = async (shell: string) => (await petstore(['completion', shell])).stdout;

/** What bash offers for the last of some words. */
function completionsIn(script: string, ...words: string[]): readonly string[] {
  const quoted = ['petstore', ...words].map((word) => `'${word}'`).join(' ');
  const source = `${script}\nCOMP_WORDS=(${quoted}) COMP_CWORD=${words.length}\n_petstore\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', source], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter((line) => line !== '');
}

test.each<[readonly string[], readonly string[]]>([
  [['ke'], ['keys']],
  [['keys', 're'], ['revoke']],
  [
    ['keys', 'r'],
    ['rotate', 'revoke'],
  ],
  [
    ['keys', 'create', '--plan', ''],
    ['free', 'pro', 'business', 'enterprise'],
  ],
  [['keys', 'create', '--plan', 'b'], ['business']],
  [['keys', 'create', '--plan', 'pro', '--i'], ['--internal']],
  [['keys', 'create', '--name', 'keys', '--ex'], ['--expires']],
  [
    ['orders', 'export', '--format', ''],
    ['ndjson', 'csv'],
  ],
  [['audit', '--s'], ['--since']],
  [['help', 'or'], ['orders']],
  [['--v'], ['--version']],
  [['keys', 'list', '--h'], ['--help']],
  [['completion', '--json'], []],
])('bash completes %j', async (words, offered) => {
  expect(completionsIn(await scriptOf('bash'), ...words)).toEqual(offered);
});

test('zsh has the same, and fish its own form', async () => {
  expect(await scriptOf('zsh')).toContain(await scriptOf('bash'));
  const fish = (await scriptOf('fish')).split('\n');
  expect(fish).toContain(
    "complete -c petstore -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from create' -l plan -x -a 'free pro business enterprise'",
  );
  // Of the commands behind `help`, itself is none: it was seen already.
  expect(fish.find((line) => line.includes('seen_subcommand_from help; and not'))).not.toMatch(/ not .* help\b.*'/);
});

test('another shell is refused by name', async () => {
  const { code, stderr } = await petstore(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
});
