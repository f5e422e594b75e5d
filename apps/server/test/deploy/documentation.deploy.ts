import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { comparable, isAsShown, Reader, ROOT, readSteps, type Step } from '../support/documentation.ts';
import { SpawnedServer, useStartedDataFolder } from '../support/spawned-server.ts';

/**
 * How much of each document is run, so that a block that is left out is noticed. All share a server: the first counts
 * orders that others cancel, and the README comes last, because it places orders, which a guide counts.
 */
const FOLLOWED = {
  'docs/guides/v2-preview.md': { commands: 7, programs: 1 },
  'docs/guides/five-minutes-rest.md': { commands: 5, programs: 1 },
  'docs/guides/five-minutes-trpc.md': { commands: 3, programs: 1 },
  'docs/guides/follow-orders.md': { commands: 13, programs: 4 },
  'README.md': { commands: 5, programs: 0 },
};

const copyStarted = useStartedDataFolder();
let folder: ReturnType<typeof copyStarted>;
let server: SpawnedServer;
beforeAll(async () => {
  folder = copyStarted();
  server = new SpawnedServer(folder.path);
  await server.url();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function openTerminal(): Promise<Reader> {
  const demoKey = (await server.demoKeys()).get('free') ?? '';
  return new Reader({ url: await server.url(), dataFolder: folder.path, demoKey });
}

/** Runs a step, and expects the output that the document shows. */
async function follow(reader: Reader, step: Step): Promise<void> {
  if (step.kind === 'program') return reader.writeFile(step.file, step.source);
  const shown = comparable(step.shown);
  let { exitCode, printed } = await reader.run(step.command);
  // On a busy machine what is waited for may take longer.
  for (let times = 1; /^sleep /.test(step.command) && !isAsShown(comparable(printed), shown) && times < 10; times++) {
    ({ exitCode, printed } = await reader.run(step.command));
  }
  const actual = comparable(printed);
  // Where they differ the texts are compared as they are, so that the failure shows the difference.
  expect(isAsShown(actual, shown) ? shown : actual, `what "${step.command}" prints`).toBe(shown);
  expect(exitCode, `the exit code of "${step.command}"`).toBe(0);
}

test.each(Object.entries(FOLLOWED))('the commands of %s print what it shows', async (document, expected) => {
  await using reader = await openTerminal();
  const done = { commands: 0, programs: 0 };
  for (const step of readSteps(document)) {
    await follow(reader, step);
    done[step.kind === 'command' ? 'commands' : 'programs'] += 1;
  }
  expect(done).toEqual(expected);
});

test('no other document has commands to run', () => {
  const guides = readdirSync(join(ROOT, 'docs/guides')).filter((name) => name.endsWith('.md'));
  const documents = [
    'README.md',
    'docs/errors.md',
    'docs/operations.md',
    ...guides.map((name) => `docs/guides/${name}`),
  ];
  const followed = documents.filter((document) => readSteps(document).length > 0);
  expect(followed.toSorted()).toEqual(Object.keys(FOLLOWED).toSorted());
});
