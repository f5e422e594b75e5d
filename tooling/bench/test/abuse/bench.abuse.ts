import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { draw, tabulate } from '../../src/report.ts';

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
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('round 1 of 1') });
    expect(stdout).toMatch(/^Refuse with 429\n.* requests\/s .* CPU ms .*\n.*\n│ service .*\n│ baseline .*\n│ ratio /s);
  });

  test('ends all that it has started when it is interrupted', async () => {
    const { child, result } = bench('--quick', '--only', 'refused', '--rounds', '20');
    child.stderr.on('data', (chunk) => {
      if (String(chunk).includes('round 1 of 20')) child.kill('SIGINT');
    });
    expect((await result).code).toBe(130);
    expect(readdirSync(folder)).toEqual([]);
    // Servers have the folder in their settings, or as an argument. Only Linux shows these.
    const isLeft = (pid: string) => `${read(`/proc/${pid}/environ`)}${read(`/proc/${pid}/cmdline`)}`.includes(folder);
    expect(existsSync('/proc') ? readdirSync('/proc').filter(isLeft) : []).toEqual([]);
  });

  test.each([
    [['--only', 'list-20,lits'], 'There is no scenario "lits".'],
    [['--rounds', '0'], 'It must be a whole number from 1 to 20.'],
    [['--fast'], "unknown option '--fast'"],
  ])('refuses %j, and says what is right', async (args, message) => {
    const { code, stderr } = await bench(...args).result;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
  });
});

describe('the report', () => {
  const figures = (perSecond: number, cpuMs: number) => ({
    ...{ 'requests/s': perSecond, 'first byte ms': 2, 'peak MB': 100 },
    ...{ 'CPU ms': cpuMs, 'of PostgreSQL': 0.5, 'of Redis': 0 },
  });
  const rounds = [
    { service: figures(3_000, 1), baseline: figures(1_000, 2) },
    { service: figures(2_000, 1), baseline: figures(1_000, 3) },
    { service: figures(1_000, 1), baseline: figures(1_000, 4) },
  ];
  const result = { title: 'List', rounds };

  test('has medians, and the ratio of each round with its spread', () => {
    const table = tabulate(result);
    expect(table.service).toEqual(figures(2_000, 1));
    expect(table.baseline).toEqual(figures(1_000, 3));
    expect(table.ratio).toMatchObject({ 'requests/s': 2, 'CPU ms': 0.333, 'peak MB': 1 });
    expect(table['ratio ± %']).toMatchObject({ 'requests/s': 50, 'peak MB': 0 });
  });

  test('draws a bar for each, as long as its processor time', () => {
    const picture = draw([result], 'today');
    const widths = Array.from(picture.matchAll(/width="([\d.]+)" height="14"/g), ([, width]) => Number(width));
    expect(widths.slice(3)).toEqual([114.3, 57.1, 0, 342.9, 57.1, 0]); // below the legend
    expect(picture).toContain('>1.5 ms</text>');
    expect(picture).toContain('>3.5 ms</text>');
    expect(picture).toContain('>2,000</text>');
  });
});
