import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';

const SERVICE = 'petstore.service';
const read = (name: string) => readFileSync(join(ROOT, 'deploy/systemd', name), 'utf8');

function analyze(...args: readonly string[]): { readonly status: number | null; readonly printed: string } {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error) throw error;
  return { status, printed: stdout + stderr };
}

/** What systemd says against a unit, with Node where the unit expects it. */
function verify(unit: string): string {
  using folder = createTemporaryFolder();
  const file = join(folder.path, SERVICE);
  writeFileSync(file, unit.replace('/opt/petstore/node/bin/node', process.execPath));
  const { printed } = analyze('verify', file);
  // It also looks at units of the machine, such as those of packages that other tests need.
  return printed.replaceAll(/^\/(?:usr\/)?lib\/systemd\/system\/.*\n/gm, '');
}

describe('the unit for systemd', () => {
  test('is understood by it', () => {
    expect(verify(read(SERVICE))).toBe('');
    expect(verify(read(SERVICE).replace('UMask', 'Umsk'))).toContain("Unknown key 'Umsk'");
  });

  test('is exposed by less than 2.0', () => {
    const unit = join(ROOT, 'deploy/systemd', SERVICE);
    const { status, printed } = analyze('security', '--offline=true', '--threshold=20', unit);
    expect(`${status} ${printed.split('\n').at(-2)}`).toMatch(
      /^0 .*Overall exposure level for petstore\S* [01]\.\d OK/,
    );
  });

  test('gives a server the time to end by itself', () => {
    const [, delaySeconds] = /^SHUTDOWN_DELAY=(\d+)s$/m.exec(read('petstore.env')) ?? [];
    const [, stopSeconds] = /^TimeoutStopSec=(\d+)s$/m.exec(read(SERVICE)) ?? [];
    expect(Number(stopSeconds)).toBeGreaterThan(Number(delaySeconds) + 10);
  });
});
