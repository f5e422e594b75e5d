import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packPackage } from '../support/packed-package.ts';
import { runShownPrograms } from '../support/shown-programs.ts';
import { startTestService } from '../support/test-service.ts';

const GUIDE = resolve(import.meta.dirname, '../../../../docs/guides/five-minutes-trpc.md');
const run = promisify(execFile);
const folder = createTemporaryFolder();
let tarball: string;

beforeAll(async () => {
  tarball = await packPackage(join(folder.path, 'package'));
}, 120_000);
afterAll(() => folder[Symbol.dispose]());

/** What the guide types to install the client, in another place, without packing it once more. */
const installingLines = (home: string): string => {
  const [, block = ''] = /## Install the client.*?```sh\n(.*?)```/s.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  const lines = block.split('\n').filter((line) => !line.startsWith('npx '));
  expect(lines.join('\n')).toMatch(/npm init -y.*npm install/s);
  return lines.join('\n').replaceAll('/tmp/petstore-client.tgz', tarball).replaceAll('/tmp/', `${home}/`);
};

test.each([
  ['20', false],
  ['22', true],
  ['24', true],
])(
  'every program that we show runs in a folder made by the lines of the guide, in Node %s',
  async (version, runsTypeScript) => {
    await using service = await startTestService();
    await service.persistence.orders.generateOrders({ count: 20, seed: 1, now: new Date() });
    const { stdout: node } = await run('npx', ['--yes', `node@${version}`, '--print', 'process.execPath']);
    const home = join(folder.path, `node-${version}`);
    await run('mkdir', [home]);
    const env = { ...process.env, PATH: [dirname(node.trim()), process.env['PATH']].join(delimiter) };
    const script = `set -e\n${installingLines(home)}\nnpm install eventsource\n`;
    await run('bash', ['-c', script], { cwd: home, env });
    await runShownPrograms({
      node: node.trim(),
      folder: join(home, 'service'),
      origin: service.origin,
      runsTypeScript,
    });
  },
  300_000,
);

test('what the guide shows in Python is exact', async () => {
  const guide = readFileSync(resolve(GUIDE, '../64-bit-ids.md'), 'utf8');
  const [, program = '', printed] = /```python\n(.*?)```\n\n```\n(.*?)```/s.exec(guide) ?? [];
  expect((await run('python3', ['-c', program])).stdout).toBe(printed);
});
