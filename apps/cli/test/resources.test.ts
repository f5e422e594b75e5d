import { appendFileSync, createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { readMemoryInUse } from '@petstore/testing';
import { expect, test } from 'vitest';
import { petstoreInto, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

test('a long list takes as little memory as a short one, in and out', async () => {
  const COUNT = 40_000;
  const file = join(commandLine.folder, 'many.ndjson');
  await commandLine.json(['orders', 'generate', '--count', String(COUNT)]);
  const before = await readMemoryInUse();
  let peakBytes = 0;
  const measure = async () => {
    peakBytes = Math.max(peakBytes, (await readMemoryInUse()) - before);
  };
  for (const [args, write] of [
    [['orders', 'export', '-'], (batch: string) => appendFileSync(file, batch)],
    [['orders', 'list', '--json'], () => {}],
  ] as const) {
    let batches = 0;
    const output = new Writable({
      write(batch, _encoding, done) {
        write(batch);
        if (++batches === 16) void measure().then(() => done());
        else done();
      },
    });
    expect(await petstoreInto(output, args, commandLine)).toEqual({ code: 0, stderr: '' });
    expect(batches).toBeGreaterThan(15);
  }
  // As objects all at once they take some 10 MB.
  expect(peakBytes).toBeLessThan(4_000_000);

  await commandLine.clear();
  peakBytes = 0;
  async function* input() {
    let chunks = 0;
    for await (const chunk of createReadStream(file)) {
      yield chunk;
      if (++chunks === 40) await measure();
    }
    expect(chunks).toBeGreaterThan(40);
  }
  const report = { read: COUNT, inserted: COUNT, rejected: [] };
  expect(await commandLine.json(['orders', 'import', '-'], { stdin: input() })).toEqual(report);
  expect(peakBytes).toBeLessThan(4_000_000);
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

test('a command that is called wrongly loads neither the database nor what checks settings', async () => {
  expect(await packagesOf('keys create --plan enterprise', 2)).toEqual(['cli', 'commander', 'domain', 'runtime']);
});

test.each(['keys list', 'orders list'])('petstore %s loads neither Redis nor what reads files', async (line) => {
  const packages = await packagesOf(line, 0);
  expect(packages).toEqual(expect.arrayContaining(['persistence', 'pg', 'zod']));
  for (const name of ['rate-limit', 'ioredis', 'csv-parse']) expect(packages).not.toContain(name);
});
