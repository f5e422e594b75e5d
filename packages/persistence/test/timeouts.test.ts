import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { responseTimeouts, TIMEOUTS_MS, withDeadline } from '../src/database/timeouts.ts';

const LATE = new Error('late');
const never = new Promise<never>(() => {});

/** Keeps this process busy. */
function work(durationMs: number): void {
  for (const end = performance.now() + durationMs; performance.now() < end; );
}

/** Keeps this thread from running, without any work. */
function stand(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

test.each([
  { turnMs: 200, endsMs: 3_200 },
  { turnMs: 1_500, endsMs: 5_000 },
])('a wait of 2.4 s ends in time although each turn is busy for $turnMs ms', async ({ turnMs, endsMs }) => {
  const beganMs = performance.now();
  let isOver = false;
  const waiting = withDeadline(never, 2_400, LATE).finally(() => {
    isOver = true;
  });
  waiting.catch(() => {}); // it may end while nobody awaits it
  while (!isOver && performance.now() - beganMs < 2 * endsMs) {
    work(turnMs);
    await sleep(1);
  }
  await expect(waiting).rejects.toBe(LATE);
  const waitedMs = performance.now() - beganMs;
  expect(waitedMs).toBeGreaterThan(2_350);
  expect(waitedMs).toBeLessThan(endsMs);
});

test.each([1_000, 10_000, 60_000])(
  'a silent connection is replaced after its caller has given up (%i ms a step)',
  (ms) => {
    const { call, silence } = responseTimeouts(ms);
    expect(silence).toBeGreaterThan(call);
    expect(silence).toBeGreaterThanOrEqual(TIMEOUTS_MS.silence);
  },
);

/** Waits for its standard input. In a process of its own, all of whose threads can be stopped. */
const WAITING = `
  import { once } from 'node:events';
  import { withDeadline } from '${new URL('../src/database/timeouts.ts', import.meta.url)}';
  const waiting = withDeadline(once(process.stdin, 'data'), 2_000, new Error('late'));
  console.log('waiting');
  const [response] = await waiting;
  console.log(response.toString());
  process.exit();
`;

test('the time in which this process stands still does not count', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', WAITING], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const outcome = Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  for (let i = 0; i < 3; i++) {
    child.kill('SIGSTOP');
    await sleep(1_300);
    child.kill('SIGCONT');
    await sleep(100);
  }
  child.stdin.on('error', () => {}); // it has ended if its wait has
  child.stdin.end('response');
  expect(String(await outcome)).toMatch(/^response/);
});

test('a response that arrived while this process stood still is used', async () => {
  const beganMs = performance.now();
  const response = once(spawn('sleep', ['0.3']), 'exit');
  const waiting = withDeadline(response, 600, LATE);
  await turn(); // timers run next
  stand(900); // less than what is taken for a suspension
  expect(await waiting).toEqual([0, null]);
  expect(performance.now() - beganMs).toBeGreaterThan(600);
});
