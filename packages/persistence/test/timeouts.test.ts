import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withDeadline } from '../src/database/in-time.ts';
import { responseTimeouts, TIMEOUTS_MS } from '../src/database/timeouts.ts';

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
  { turnMs: 10, endsMs: 700 },
  { turnMs: 100, endsMs: 900 },
])('a wait of 150 ms ends in time although each turn is busy for $turnMs ms', async ({ turnMs, endsMs }) => {
  const beganMs = performance.now();
  let isOver = false;
  const waiting = withDeadline(never, 150, LATE).finally(() => {
    isOver = true;
  });
  waiting.catch(() => {}); // it may end while nobody awaits it
  while (!isOver && performance.now() - beganMs < 2 * endsMs) {
    work(turnMs);
    await sleep(1);
  }
  await expect(waiting).rejects.toBe(LATE);
  const waitedMs = performance.now() - beganMs;
  expect(waitedMs).toBeGreaterThan(140);
  expect(waitedMs).toBeLessThan(endsMs);
});

test.each([undefined, 1_000, 10_000, 60_000])(
  'PostgreSQL ends a statement, and before it a wait for a lock, before the caller or pg gives it up (%s ms a step)',
  (patienceMs) => {
    const { lock, statement, call, silence } = responseTimeouts(patienceMs);
    const inOrder = [lock, statement, call, silence];
    expect(inOrder.toSorted((a, b) => a - b)).toEqual(inOrder);
    expect(lock).toBeLessThan(statement);
    expect(statement).toBeLessThan(call);
    expect(silence).toBeGreaterThanOrEqual(TIMEOUTS_MS.silence);
  },
);

test('a response that arrived while this process stood still is used', async () => {
  const beganMs = performance.now();
  const response = once(spawn('sleep', ['0.1']), 'exit');
  const waiting = withDeadline(response, 200, LATE);
  await turn(); // timers run next
  stand(500);
  expect(await waiting).toEqual([0, null]);
  expect(performance.now() - beganMs).toBeGreaterThan(200);
});
