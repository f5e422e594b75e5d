import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

// A command loads what it needs, and nothing else: most of the time of a short one is that of loading.

const commandLine = useTestCommandLine();

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
  ['completion bash', 0],
  ['keys create --plan enterprise', 2],
])('petstore %s loads neither the database nor what checks settings', async (line, code) => {
  expect(await packagesOf(line, code)).toEqual(['cli', 'commander', 'domain', 'runtime']);
});

test.each(['keys list', 'orders list'])('petstore %s loads neither Redis nor what reads files', async (line) => {
  const packages = await packagesOf(line, 0);
  expect(packages).toEqual(expect.arrayContaining(['persistence', 'pg', 'zod']));
  for (const name of ['rate-limit', 'ioredis', 'csv-parse']) expect(packages).not.toContain(name);
});
