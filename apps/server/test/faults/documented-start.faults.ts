import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, realpathSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTemporaryFolder, endWithTestRun, type TemporaryFolder } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { ROOT } from '../support/documentation.ts';
import { isRunning, useStartedDataFolder } from '../support/spawned-server.ts';

const copyStarted = useStartedDataFolder();

/** The processes below one, itself first: those of the documented command, then the server and its children. */
function processesBelow(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const line of execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')) {
    const [child = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const below = (parent: number): number[] => [parent, ...(children.get(parent) ?? []).flatMap(below)];
  return below(pid);
}

/**
 * A checkout with what the documented command runs, and no more: npx would read what every package in the folder has
 * installed, and pnpm would look for what is missing, which takes most of their time. The processes are the same.
 */
function createSmallCheckout(): TemporaryFolder {
  const folder = createTemporaryFolder();
  const programs = join(folder.path, 'node_modules/.bin');
  mkdirSync(programs, { recursive: true });
  const pnpm = realpathSync(join(ROOT, 'node_modules/pnpm'));
  symlinkSync(pnpm, join(folder.path, 'node_modules/pnpm'));
  symlinkSync(join(pnpm, 'pnpm'), join(programs, 'pnpm'));
  symlinkSync(process.execPath, join(programs, 'node'));
  for (const name of ['apps', 'tooling']) symlinkSync(join(ROOT, name), join(folder.path, name));
  copyFileSync(join(ROOT, 'package.json'), join(folder.path, 'package.json'));
  const settings =
    readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8').match(/^(?:pmOnFail|nodeVersion): .*$/gm) ?? [];
  expect(settings).toHaveLength(2);
  writeFileSync(join(folder.path, 'pnpm-workspace.yaml'), settings.join('\n'));
  return folder;
}

/** Runs a documented command in a process group of its own, until it is ended, or the tests are. */
function runDocumented(command: 'start' | 'dev', checkout: string, dataFolder: string) {
  const started = spawn('npx', ['--yes', 'pnpm@12', command], {
    cwd: checkout,
    // None of the variables by which the package manager of these tests would be taken for that of the server.
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataFolder, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid = Number.NaN } = started;
  let output = '';
  for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => (output += text));
  return { pid, ended: once(started, 'close').then(endWithTestRun(pid)), output: () => output };
}

/** How far below the process that was started is the one that gets the signal; or that all of them get it. */
test.each([
  ['SIGTERM', 'npx', 0],
  ['SIGKILL', 'npx', 0],
  ['SIGTERM', 'the shell below it', 1],
  ['SIGTERM', 'pnpm', 2],
  ['SIGINT', 'all processes, as by Ctrl-C,', 'all'],
] as const)('%s to %s of the documented command ends all of it', { timeout: 90_000 }, async (signal, _, depth) => {
  using folder = copyStarted();
  using small = createSmallCheckout();
  const checkout = depth === 'all' ? ROOT : small.path; // once in this checkout as it is
  const { pid, ended, output } = runDocumented('start', checkout, folder.path);
  await vi.waitUntil(() => output().includes('listening on '), { timeout: 60_000 });
  const processes = processesBelow(pid);
  expect(processes.length).toBeGreaterThan(5);
  process.kill(depth === 'all' ? -pid : (processes[depth] ?? Number.NaN), signal);
  await vi.waitFor(() => expect(processes.filter(isRunning)).toEqual([]), { timeout: 10_000, interval: 100 });
  await ended;
});

test.each([
  ['packages/domain/src/plan.ts', 'SIGINT', 'all processes, as by Ctrl-C,'],
  ['packages/rate-limit/src/limiter.lua', 'SIGTERM', 'npx'],
  ['docs/guides/versions.md', 'SIGKILL', 'npx'],
] as const)(
  'pnpm dev starts the server anew when %s has changed, and %s to %s ends all of it',
  { timeout: 90_000 },
  async (file, signal, receiver) => {
    using folder = copyStarted();
    using small = createSmallCheckout();
    const { pid, ended, output } = runDocumented('dev', small.path, folder.path);
    const servers = () => Array.from(output().matchAll(/, process (\d+)/g), ([, server]) => Number(server));
    const isUp = (times: number) => () => output().split('listening on ').length > times;
    await vi.waitUntil(isUp(1), { timeout: 60_000 });
    const before = processesBelow(pid);
    const now = new Date();
    utimesSync(join(ROOT, file), now, now); // as far as who watches it can tell, it has changed
    await vi.waitUntil(isUp(2), { timeout: 60_000 });
    const [first = Number.NaN, second = Number.NaN] = servers();
    expect([isRunning(first), isRunning(second)]).toEqual([false, true]);
    const processes = new Set([...before, ...processesBelow(pid)]);
    process.kill(receiver === 'npx' ? pid : -pid, signal);
    await vi.waitFor(() => expect([...processes].filter(isRunning)).toEqual([]), { timeout: 10_000, interval: 100 });
    await ended;
  },
);

test('a server that a script starts in the background goes on when the script has ended', {
  timeout: 90_000,
}, async () => {
  using folder = copyStarted();
  using small = createSmallCheckout();
  const script = spawn('sh', ['-c', 'npx --yes pnpm@12 start & sleep 1'], {
    cwd: small.path,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: folder.path, PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  let output = '';
  script.stdout.on('data', (text) => (output += text));
  const closed = once(script, 'close');
  await Promise.all([once(script, 'exit'), vi.waitUntil(() => output.includes('listening on '), { timeout: 60_000 })]);
  const pid = Number(/, process (\d+)/.exec(output)?.[1]);
  const unregister = endWithTestRun(pid);
  await sleep(1_000); // several times as long as it takes to notice the end of what started it
  expect(isRunning(pid)).toBe(true);
  process.kill(pid, 'SIGTERM');
  await closed;
  unregister();
});

const MAINS = [
  'apps/server/src/main.js',
  'apps/cli/src/main.js',
  'tooling/test/src/main.js',
  'tooling/test/src/dev.js',
];

test.each(MAINS)('an old Node gets one line from %s', (main) => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, join(ROOT, main)];
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    /^petstore: This is Node 20\.20\.2, and Node 24\.16 or newer \(not 25, not 26\.0\) is required\. "npx [^"]*" installs one, unless ignore-scripts is set: then "npx --yes pnpm@12 --config\.ignoreScripts=false rebuild" does\.\n$/,
  );
});
