import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ChildProcesses } from '../src/environment/child-process.ts';
import { cpuMsOf, MEASURES_COST, peakMbOf, processTree } from '../src/environment/process-cost.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function programOf(source: string): string {
  const file = join(folder, `${crypto.randomUUID()}.mjs`);
  writeFileSync(file, source);
  return file;
}

const STAYS = 'setInterval(() => {}, 1000);';
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a line is found whether it is written before or after it is waited for', async () => {
  await using children = new ChildProcesses();
  const program = children.start(programOf(`console.log('{"msg":"listening on http://127.0.0.1:1"}'); ${STAYS}`), []);
  expect(await program.waitForLine(/listening on (http:[\w/.:]+)/)).toBe('http://127.0.0.1:1');
  expect(await program.waitForLine(/listening on (http:[\w/.:]+)/)).toBe('http://127.0.0.1:1');
});

it('waiting for a program that fails gives its output', async () => {
  await using children = new ChildProcesses();
  const file = programOf(`console.error('no database'); process.exitCode = 3;`);
  await expect(children.start(file, []).waitForLine(/(never)/)).rejects.toThrow(/ended with 3\n.*no database/s);
  await expect(children.start(file, []).waitForEnd()).rejects.toThrow('no database');
});

it('no program outlives the run, nor does what it has started, whether it obeys SIGTERM or not', async () => {
  const children = new ChildProcesses();
  const child = `import { spawn } from 'node:child_process';
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    process.on('SIGTERM', () => {});
    console.log('pid ' + pid); ${STAYS}`;
  const stubborn = children.start(programOf(child), []);
  const obedient = children.start(programOf(`console.log('pid 1'); ${STAYS}`), []);
  const grandchild = Number(await stubborn.waitForLine(/pid (\d+)/));
  await obedient.waitForLine(/pid (1)/);
  await children[Symbol.asyncDispose]();
  expect(isAlive(obedient.pid)).toBe(false);
  expect(isAlive(stubborn.pid)).toBe(false);
  await expect.poll(() => isAlive(grandchild), { timeout: 10_000 }).toBe(false);
  expect(() => children.start(programOf(STAYS), [])).toThrow('the run is over');
});

it('the cost of a process is that of all that descend from it, or 0 where the machine does not measure it', async () => {
  await using children = new ChildProcesses();
  // Of the processor's time, of which a busy machine may give it little.
  const burn = 'while (process.cpuUsage().user < 300_000);';
  const program = children.start(
    programOf(`import { spawn } from 'node:child_process';
      spawn(process.execPath, ['-e', ${JSON.stringify(`${burn} console.log('burnt'); ${STAYS}`)}], { stdio: 'inherit' });
      ${STAYS}`),
    [],
  );
  await program.waitForLine(/(burnt)/);
  const pids = processTree(program.pid);
  if (!MEASURES_COST) return expect([pids, cpuMsOf(pids), peakMbOf(pids)]).toEqual([[program.pid], 0, 0]);
  expect(pids).toHaveLength(2);
  expect(cpuMsOf(pids)).toBeGreaterThan(cpuMsOf([program.pid]) + 100);
  expect(peakMbOf(pids)).toBeGreaterThan(peakMbOf([program.pid]) * 1.5);
});
