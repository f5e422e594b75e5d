import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { renderTable } from '../../src/table.ts';

const PROGRAM = join(import.meta.dirname, '../../src/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
afterAll(() => rmdirSync(folder)); // which fails unless every run has cleared up

function bench(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, TMPDIR: folder } });
  const output = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const result = output.then(([stdout, stderr, [code]]) => ({ stdout, stderr, code }));
  return { child, result };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // no process, or one that has just ended
  }
}

describe('the command', () => {
  test('compares the responses, loads both, and prints what they cost', async () => {
    const { code, stdout, stderr } = await bench('--quick', '--only', 'refused').result;
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('round 1 of 1, baseline') });
    expect(stdout).toMatch(
      /^Refuse with 429 +requests\/s +p50 ms +p99 ms.*\n +service +\d.*\n +baseline +\d.*\n +ratio +×/,
    );
    expect(stdout).toContain('rounds: 1 of 1 s each');
  });

  test('ends all that it has started when it is interrupted', async () => {
    const { child, result } = bench('--quick', '--only', 'refused', '--seconds', '60');
    child.stderr.on('data', (chunk) => {
      if (String(chunk).includes('warming up')) child.kill('SIGINT');
    });
    expect((await result).code).toBe(130);
    expect(readdirSync(folder)).toEqual([]);
    // Servers have the folder in their settings, or as an argument. Only Linux shows these.
    const isLeft = (pid: string) => `${read(`/proc/${pid}/environ`)}${read(`/proc/${pid}/cmdline`)}`.includes(folder);
    expect(existsSync('/proc') ? readdirSync('/proc').filter(isLeft) : []).toEqual([]);
  });

  test.each([
    [['--only', 'list-20,lits'], 'There is no scenario "lits".'],
    [['--rounds', '0'], '--rounds must be a whole number from 1 to 50, not "0".'],
    [['--seconds', '1.5'], '--seconds must be a whole number from 1 to 60, not "1.5".'],
    [['--fast'], "Unknown option '--fast'"],
  ])('refuses %j, and says what is right', async (args, message) => {
    const { code, stderr } = await bench(...args).result;
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^.*\n\npnpm bench \[--only a,b\]/s) });
    expect(stderr).toContain(message);
  });
});

test('a table has medians with their spread, and the ratio of the upper row to the lower', () => {
  const service = {
    name: 'service',
    rounds: [11_000, 10_000, 12_000].map((value) => ({ 'requests/s': value, ms: 0 })),
  };
  const baseline = { name: 'baseline', rounds: [9_000, 11_000].map((value) => ({ 'requests/s': value, ms: 0 })) };
  expect(renderTable('List', [service, baseline])).toBe(
    [
      'List          requests/s  ms',
      '  service    11,000 ±9 %   0',
      '  baseline  10,000 ±10 %   0',
      '  ratio            ×1.10   –',
    ].join('\n'),
  );
});
