import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { petstore, spawnPetstore } from './support.ts';

// Without DATABASE_URL: the database below DATA_DIR, which we run where no server does.

let folder: ReturnType<typeof createTemporaryFolder>;
beforeEach(() => {
  folder = createTemporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

const environment = () => ({ DATA_DIR: join(folder.path, 'my data') });

/** Whether the database's process lives. */
function isRunning(): boolean {
  try {
    const [pid] = readFileSync(join(folder.path, 'my data/postgres/postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}

async function call(...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await petstore([...args, '--json'], { environment: environment() });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

test('data is kept from one command to the next, and nothing runs between them', async () => {
  expect(await call('orders', 'generate', '--count', '3')).toEqual({ inserted: 3 });
  expect(isRunning()).toBe(false);
  expect(await call('orders', 'list')).toHaveLength(3);
  expect(isRunning()).toBe(false);
});

test('several commands at once share one database, which ends with the last of them', async () => {
  await call('migrate');
  await Promise.all(Array.from({ length: 4 }, () => call('orders', 'generate', '--count', '100')));
  expect(isRunning()).toBe(false);
  expect(await call('orders', 'list')).toHaveLength(400);
});

describe('a command that is broken off', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('by %s imports nothing, and leaves no database running', async (signal) => {
    await call('migrate');
    const child = spawnPetstore(['orders', 'import', '-'], { environment: environment() });
    const closed = once(child, 'close');
    child.stdin.on('error', () => {});
    for (let id = 1; id <= 10_000; id++) child.stdin.write(`{"id":${id},"petId":1,"quantity":1}\n`);
    await expect.poll(isRunning, { timeout: 25_000 }).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    child.kill(signal);
    expect(await closed).toEqual([signal === 'SIGINT' ? 130 : 143, null]);
    await expect.poll(isRunning, { timeout: 25_000 }).toBe(false);
    expect(await call('orders', 'list')).toEqual([]);
  });
});

test('a folder that cannot be written is one clear line', async () => {
  const { code, stdout, stderr } = await petstore(['keys', 'list', '--json'], {
    environment: { DATA_DIR: '/dev/null/data' },
  });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^petstore: The data folder \/dev\/null\/data cannot be written to .*\n$/);
});
