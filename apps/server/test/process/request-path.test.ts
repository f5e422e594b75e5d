import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createTemporaryFolder } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { SpawnedServer } from './support/spawned-server.ts';
import { useStartedDataFolder } from './support/started-once.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const TRACER = pathToFileURL(join(import.meta.dirname, 'support/trace-files.ts')).href;
const FILES_MAX = 25;
const FILES_TO_OPEN_MAX = 12;
/** Within this time other processes are notified of a change, which no response waits for. */
const BACKGROUND_MS = 100;

/** The files that a section of ARCHITECTURE.md names, and those of them that it says have to be opened: a step each. */
function documentedPath(): { readonly files: readonly string[]; readonly toOpen: readonly string[] } {
  const text = readFileSync(join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8');
  const section = /^## One request, file by file$(.*?)^## /ms.exec(text)?.[1] ?? '';
  const filesIn = (part: string) =>
    Array.from(part.matchAll(/`((?:apps|packages)\/\S+\.ts)`/g), ([, path = '']) => path);
  const steps = section.split('\n').filter((line) => /^\d+\. /.test(line));
  return { files: [...new Set(filesIn(section))].toSorted(), toOpen: [...new Set(filesIn(steps.join('\n')))] };
}

const copyStarted = useStartedDataFolder();

test('ARCHITECTURE.md names exactly the files that a DELETE runs through, and few enough to be read', async () => {
  using data = copyStarted();
  using traces = createTemporaryFolder();
  const environment = { NODE_OPTIONS: `--import=${TRACER}`, TRACED_FILES: traces.path };
  await using server = new SpawnedServer(data.path, environment);
  const orders = `${await server.url()}/v1/store/orders`;
  const authorization = `Bearer ${(await server.demoKeys()).get('enterprise')}`;
  // A connection of its own, as a first request has.
  const headers = { authorization, connection: 'close' };
  let taken = 0;

  async function trace(): Promise<Set<string>> {
    const file = join(traces.path, String(taken++));
    server.process.kill('SIGUSR2');
    await vi.waitUntil(() => existsSync(file), { timeout: 20_000, interval: 5 });
    return new Set(readFileSync(file, 'utf8').split('\n'));
  }

  const pending: number[] = ((await (await fetch(orders, { headers })).json()) as { id: number; complete: boolean }[])
    .filter(({ complete }) => !complete)
    .map(({ id }) => id);
  const executed: Set<string>[] = [];
  for (const id of pending) {
    await sleep(BACKGROUND_MS);
    await trace();
    const { status } = await fetch(`${orders}/${id}`, { method: 'DELETE', headers });
    const files = await trace();
    if (status === 204) executed.push(files);
  }
  // The first is not warm. What does not run each time belongs to the background: PostgreSQL is looked at now and then.
  const [, ...warm] = executed;
  const files = [...(warm[0] ?? [])].filter((file) => warm.every((some) => some.has(file))).toSorted();
  const { files: documented, toOpen } = documentedPath();
  expect(warm.length).toBeGreaterThan(5);
  expect(files).toEqual(documented);
  expect(files.length).toBeLessThanOrEqual(FILES_MAX);
  expect(toOpen.length).toBeLessThanOrEqual(FILES_TO_OPEN_MAX);
});
