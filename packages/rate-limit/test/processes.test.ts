import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestRedis } from '@petstore/testing';
import { expect, test } from 'vitest';

const PROCESS = fileURLToPath(new URL('./support/limiter-process.ts', import.meta.url));
const run = promisify(execFile);

test('several processes together admit exactly the limit of each key', async () => {
  await using database = await createTestRedis();
  const [processes, perMinute, keys] = [4, 2_000, ['one', 'other', 'third']];
  // More than all keys admit, and so few for each process that none can take all: they really run side by side.
  const requests = 3_000;
  const parameters = [database.url, keys.join(), perMinute, requests, 50, processes].map(String);
  const outputs = await Promise.all(
    Array.from({ length: processes }, () => run(process.execPath, [PROCESS, ...parameters])),
  );
  const admitted: { key: string; remaining: number }[] = outputs.flatMap(({ stdout }) => JSON.parse(stdout));
  for (const key of keys) {
    // Each number was returned once: some serial order explains all decisions.
    const remaining = admitted.filter((request) => request.key === key).map((request) => request.remaining);
    expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: perMinute }, (_, i) => perMinute - 1 - i));
  }
}, 60_000);
