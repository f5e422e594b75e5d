import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

test('a long list takes as little memory as a short one, in and out', async () => {
  const COUNT = 80_000;
  await commandLine.json(['orders', 'generate', '--count', String(COUNT)]);
  const call = async (heapMb: number, ...args: string[]) => {
    const nodeOptions = [`--max-old-space-size=${heapMb}`];
    const { code, stdout, stderr } = await commandLine.runProcess([...args, '--json'], { nodeOptions });
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  // Commands that keep all these orders exceed these heaps; those that stream them need half to two thirds of them.
  const file = join(commandLine.folder, 'many.ndjson');
  expect(await call(36, 'orders', 'export', file)).toEqual({ exported: COUNT });
  expect(await call(36, 'orders', 'list')).toHaveLength(COUNT);
  await commandLine.clear();
  expect(await call(44, 'orders', 'import', file)).toEqual({ read: COUNT, inserted: COUNT, rejected: [] });
}, 120_000);
