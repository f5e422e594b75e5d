import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

test('a long list takes as little memory as a short one, in and out', async () => {
  const COUNT = 60_000;
  await commandLine.json(['orders', 'generate', '--count', String(COUNT)]);
  const call = async (heapMb: number, ...args: string[]) => {
    const nodeOptions = [`--max-old-space-size=${heapMb}`];
    const { code, stdout, stderr } = await commandLine.runProcess([...args, '--json'], { nodeOptions });
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  // Commands that keep all these orders exceed these heaps; those that stream them need two thirds of them.
  const file = join(commandLine.folder, 'many.ndjson');
  expect(await call(28, 'orders', 'export', file)).toEqual({ exported: COUNT });
  await commandLine.clear();
  expect(await call(28, 'orders', 'import', file)).toEqual({ read: COUNT, inserted: COUNT, rejected: [] });
}, 120_000);

// A command loads what it needs, and nothing else: most of the time of a short one is that of loading.

/** The packages of the modules that a command loads, in their order. */
async function packagesOf(line: string, expectedCode: number): Promise<readonly string[]> {
  const LOADED_MODULES = join(commandLine.folder, `loaded by ${line}`);
  const { code } = await commandLine.runProcess(line.split(' '), {
    environment: { LOADED_MODULES },
    nodeOptions: ['--import', import.meta.resolve('@petstore/testing/list-loaded-modules')],
  });
  expect(code).toBe(expectedCode);
  const urls = readFileSync(LOADED_MODULES, 'utf8').split('\n');
  const names = urls.map((url) => /.*\/(?:node_modules|apps|packages)\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

test.each([
  ['--help', 0],
  ['keys create --plan enterprise', 2],
])('petstore %s loads neither the database nor what checks settings', async (line, code) => {
  expect(await packagesOf(line, code)).toEqual(['cli', 'commander', 'domain', 'runtime']);
});

test.each(['keys list', 'orders list'])('petstore %s loads neither Redis nor what reads files', async (line) => {
  const packages = await packagesOf(line, 0);
  expect(packages).toEqual(expect.arrayContaining(['persistence', 'pg', 'zod']));
  for (const name of ['rate-limit', 'ioredis', 'csv-parse']) expect(packages).not.toContain(name);
});
