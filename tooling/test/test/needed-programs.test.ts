import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ensureNeededPrograms } from '../src/needed-programs.ts';

/** Looks in a folder that holds these programs alone, and no apt-get that could bring others. */
function lookAmong(programs: readonly string[], task = 'test'): string | undefined {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'needed-programs-'));
  for (const program of programs) writeFileSync(join(folder.path, program), '');
  return ensureNeededPrograms(task, [join(folder.path, 'not-there'), folder.path]);
}

describe('the programs that tests need', () => {
  test.each([
    [['redis-server', 'chromium-headless-shell', 'curl', 'pgbouncer']],
    [['redis-server', 'chromium', 'curl', 'pgbouncer']],
    [['valkey-server', 'google-chrome', 'curl', 'pgbouncer']],
  ])('are there: %j', (programs) => {
    expect(lookAmong(programs)).toBeUndefined();
  });

  test('are each named with how to install them, where one is missing and cannot be installed', () => {
    expect(lookAmong(['curl', 'chromium', 'pgbouncer'])).toBe(
      'The tests need a Redis server, and none of redis-server, valkey-server is on PATH or could be installed.\n' +
        'Install one: "sudo apt-get install redis-server" (Debian), "brew install redis" (macOS).',
    );
    const both = lookAmong(['chromium', 'pgbouncer']) ?? '';
    expect([...both.matchAll(/The tests need (.*), and none/g)].map(([, name]) => name)).toEqual([
      'a Redis server',
      'curl',
    ]);
  });

  test('are more where balancers, units, alerts and a pooler for reads are tried', () => {
    const forTests = ['redis-server', 'chromium', 'curl', 'pgbouncer'];
    const programs = [...forTests, 'nginx', 'systemd-analyze', 'docker-compose', 'psql', 'promtool'];
    expect(lookAmong([...programs, 'haproxy'], 'test:deploy')).toBeUndefined();
    expect(lookAmong(programs, 'test:deploy')).toContain('"sudo apt-get install haproxy" (Debian)');
    expect(lookAmong([...forTests, 'pgpool'], 'test:faults')).toBeUndefined();
    expect(lookAmong(forTests, 'test:faults')).toContain('"sudo apt-get install pgpool2" (Debian)');
  });
});
