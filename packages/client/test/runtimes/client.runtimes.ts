import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { buildPackage } from '../../scripts/build-package.ts';
import { runShownPrograms } from '../support/shown-programs.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const GUIDE = resolve(import.meta.dirname, '../../../../docs/guides/five-minutes-trpc.md');

/** The oldest that is promised, what is current, and the others. */
const RUNTIMES: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['Node 20', ['node@20.0.0']],
  ['Node 22', ['node@22']],
  ['Node 24', ['node@24']],
  ['Deno 2', ['deno@2', 'run', '--allow-net', '--allow-env']],
  ['Bun 1', ['bun@1']],
];

/** It prints a line for each thing that it has done. The response to the first attempt at cancelling is lost. */
const PROGRAM = `
  import { ConflictError, createPetstoreClient, createPetstoreRestClient, petstoreErrorOf } from '@petstore/client';
  const { Deno: deno, Bun: bun } = globalThis;
  console.log(deno ? 'Deno ' + deno.version.deno : bun ? 'Bun ' + bun.version : 'Node ' + process.versions.node);
  const baseUrl = process.argv[2];
  const client = createPetstoreClient({ baseUrl, apiKey: 'internal' });
  const { id, petId, shipDate } = await client.orders.place.mutate({
    petId: 9223372036854775807n, quantity: 1, shipDate: new Date(0),
  });
  console.log(petId, shipDate.getTime());

  const rest = createPetstoreRestClient({ baseUrl, apiKey: 'external' });
  const before = await rest.listOrders().toArray();
  console.log(before.some((order) => order.id === id && order.petId === petId));

  await rest.cancelOrder({ orderId: id });
  console.log('cancelled');
  await rest.cancelOrder({ orderId: id }).catch((error) => {
    console.log(error instanceof ConflictError, error.code, error.status, error.requestId !== undefined);
  });
  await client.orders.cancel.mutate({ orderId: id }).catch((error) => console.log(petstoreErrorOf(error).code));

  let count = 0;
  for await (const orders of await client.orders.list.query()) count += orders.length;
  console.log(count === before.length);

  for await (const event of client.events({ after: '0' })) {
    if (event.orderId !== id) continue;
    console.log(event.type);
    break;
  }

  const signal = AbortSignal.abort(new Error('left'));
  await rest.listOrders({ signal }).toArray().catch((error) => console.log(error.message));

  // Nothing is left that would keep the program waiting.
  const endMs = performance.now();
  process.on('exit', () => console.log(performance.now() - endMs < 2_000));
`;

const PRINTS = `9223372036854775807n 0
true
cancelled
true order_already_cancelled 409 true
order_already_cancelled
true
order.placed
left
true
`;

/** Hands on all requests, and loses the response to the first DELETE of each URL. */
function createLossyProxy(origin: string): Server {
  const seen = new Set<string | undefined>();
  return createServer((request, response) => {
    const { method, headers, url } = request;
    const isLost = method === 'DELETE' && !seen.has(url);
    seen.add(url);
    const forwarded = httpRequest(`${origin}${url}`, { method, headers }, (answer) => {
      if (isLost) {
        answer.resume();
        response.destroy();
      } else answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
    });
    request.pipe(forwarded);
  });
}

const folder = createTemporaryFolder();
let service: TestService;
let proxy: Server;
let tarball: string;

/** The workspace's own, since npm, which may run this test, packs without `publishConfig`. */
const PNPM = resolve(PACKAGE, '../../node_modules/.bin/pnpm');

/**
 * Packs the package as it is published, from a copy, so that nothing is written where others read.
 *
 * @returns the tarball
 */
async function packPackage(copy: string): Promise<string> {
  await buildPackage(join(copy, 'dist'));
  await copyFile(join(PACKAGE, 'README.md'), join(copy, 'README.md'));
  const { devDependencies: _, scripts: _scripts, ...published } = manifest;
  await writeFile(join(copy, 'package.json'), JSON.stringify(published));
  await run(PNPM, ['pack'], { cwd: copy });
  return join(copy, `petstore-client-${manifest.version}.tgz`);
}

/** Installs the package as it is published, with what tRPC takes. */
beforeAll(async () => {
  service = await startTestService();
  await service.persistence.orders.generateOrders({ count: 1_000, seed: 1, now: new Date() });
  proxy = createLossyProxy(service.origin).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  tarball = await packPackage(join(folder.path, 'package'));
  const installed = join(folder.path, 'node_modules/@petstore/client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  for (const peer of Object.keys(manifest.peerDependencies)) {
    const link = join(folder.path, 'node_modules', peer);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(PACKAGE, 'node_modules', peer), link);
  }
  await writeFile(join(folder.path, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder.path, 'program.mjs'), PROGRAM);
  await copyFile(join(PACKAGE, 'examples/testing.ts'), join(folder.path, 'testing.mjs')); // it has no types
}, 120_000);

afterAll(async () => {
  proxy.close();
  proxy.closeAllConnections();
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const proxyOrigin = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // it listens on TCP

test.each(RUNTIMES)(
  'the client does its work in %s',
  async (name, [runtime = '', ...args]) => {
    const { stdout } = await run('npx', ['--yes', runtime, ...args, 'program.mjs', proxyOrigin()], {
      cwd: folder.path,
      env: { ...process.env, NO_COLOR: '1' },
    });
    const [version, ...lines] = stdout.split('\n');
    expect(version).toContain(`${name}.`);
    expect(lines.join('\n')).toBe(PRINTS);
  },
  300_000,
);

test.each(RUNTIMES.filter(([name]) => /^Node (?!20)/.test(name)))(
  'the service for tests does its work in %s',
  async (_, [runtime = '', ...args]) => {
    const { stdout } = await run('npx', ['--yes', runtime, ...args, 'testing.mjs'], {
      cwd: folder.path,
      env: { ...process.env, NO_COLOR: '1' },
    });
    expect(stdout).toMatch(/status: ['"]cancelled['"].*order_already_shipped\n$/s);
  },
  300_000,
);

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
    await using shop = await startTestService();
    await shop.persistence.orders.generateOrders({ count: 20, seed: 1, now: new Date() });
    const { stdout: node } = await run('npx', ['--yes', `node@${version}`, '--print', 'process.execPath']);
    const home = join(folder.path, `node-${version}`);
    await run('mkdir', [home]);
    const env = { ...process.env, PATH: [dirname(node.trim()), process.env['PATH']].join(delimiter) };
    const script = `set -e\n${installingLines(home)}\n`;
    await run('bash', ['-c', script], { cwd: home, env });
    await runShownPrograms({
      node: node.trim(),
      folder: join(home, 'service'),
      origin: shop.origin,
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
