import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';

const UNITS = join(ROOT, 'deploy/systemd');
const SERVICES = ['petstore.service', 'petstore@.service'];

function analyze(...args: readonly string[]): { readonly status: number | null; readonly printed: string } {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error) throw error;
  return { status, printed: stdout + stderr };
}

/** What systemd says against units, where Node lies where they expect it. */
function verify(change: (text: string) => string = (text) => text): string {
  using folder = createTemporaryFolder();
  cpSync(UNITS, folder.path, { recursive: true });
  for (const name of SERVICES) {
    const file = join(folder.path, name);
    const text = readFileSync(file, 'utf8').replace('/opt/petstore/node/bin/node', process.execPath);
    writeFileSync(file, change(text));
  }
  return analyze('verify', ...globSync(join(folder.path, 'petstore*.{service,target}'))).printed;
}

const read = (name: string) => readFileSync(join(UNITS, name), 'utf8');

describe('the units for systemd', () => {
  test('are understood by it', () => {
    expect(verify()).toBe('');
    expect(verify((text) => text.replace('UMask', 'Umsk'))).toContain("Unknown key 'Umsk'");
  });

  test.each(SERVICES)('%s is exposed by less than 2.0', (name) => {
    const { status, printed } = analyze('security', '--offline=true', '--threshold=20', join(UNITS, name));
    expect(`${status} ${printed.split('\n').at(-2)}`).toMatch(
      /^0 .*Overall exposure level for petstore\S* [01]\.\d OK/,
    );
  });

  test('for one server and for several differ in what they have to', () => {
    const linesOf = (name: string) =>
      read(name)
        .split('\n')
        .filter((line) => !line.startsWith('#'));
    const [one, several] = [linesOf('petstore.service'), linesOf('petstore@.service')];
    expect(several.filter((line) => !one.includes(line))).toEqual([
      'Description=Petstore Orders, server %i',
      'PartOf=petstore.target',
      'Environment=REUSE_PORT=on ADMIN_PORT=300%i',
      'WantedBy=petstore.target',
    ]);
    expect(one.filter((line) => !several.includes(line))).toEqual([
      'Description=Petstore Orders',
      'WantedBy=multi-user.target',
    ]);
  });

  test('give a server the time to end by itself', () => {
    const [, delaySeconds] = /^SHUTDOWN_DELAY=(\d+)s$/m.exec(read('petstore.env')) ?? [];
    const [, stopSeconds] = /^TimeoutStopSec=(\d+)s$/m.exec(read('petstore.service')) ?? [];
    expect(Number(stopSeconds)).toBeGreaterThan(Number(delaySeconds) + 10);
  });
});
