import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

const source = useTestCommandLine();
const target = useTestCommandLine();

test('a long list takes as little memory as a short one, in and out', async () => {
  const COUNT = 80_000;
  await source.json(['orders', 'generate', '--count', String(COUNT)]);
  const call = async (heapMb: number, on: typeof source, ...args: string[]) => {
    const nodeOptions = [`--max-old-space-size=${heapMb}`];
    const { code, stdout, stderr } = await on.runProcess([...args, '--json'], { nodeOptions });
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  // Commands that keep all these orders exceed these heaps; those that stream them need half to two thirds of them.
  const [file, backup] = [join(source.folder, 'many.ndjson'), join(source.folder, 'many.backup')];
  expect(await call(36, source, 'orders', 'export', file)).toEqual({ exported: COUNT });
  expect(await call(36, source, 'orders', 'list')).toHaveLength(COUNT);
  const counts = { orders: COUNT, events: COUNT };
  expect(await call(28, source, 'backup', backup)).toMatchObject(counts);
  expect(await call(28, target, 'restore', backup)).toMatchObject(counts);
  await source.clear();
  expect(await call(44, source, 'orders', 'import', file)).toEqual({ read: COUNT, inserted: COUNT, rejected: [] });
}, 120_000);
