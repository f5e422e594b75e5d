import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createTemporaryFolder } from '@petstore/testing';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { startTestService } from '../support/test-service.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
/** Built by the task before this one. */
const tarball = resolve(PACKAGE, `../../dist/release/petstore-client-${manifest.version}.tgz`);
const run = promisify(execFile);

/** Calls alone, in a batch and as a stream, with each type of value, and an error. */
const PROGRAM = `
  import { createPetstoreClient, petstoreErrorOf } from '@petstore/client';
  const client = createPetstoreClient({ baseUrl: process.argv[2], apiKey: 'internal' });
  const { place, cancel, list } = client.orders;
  const [{ id }, { petId, shipDate }] = await Promise.all([
    place.mutate({ petId: 7n, quantity: 1 }),
    place.mutate({ petId: 9223372036854775807n, quantity: 1, shipDate: new Date(0) }),
  ]);
  console.log(petId, shipDate.getTime());
  await cancel.mutate({ orderId: id });
  await cancel.mutate({ orderId: id }).catch((error) => console.log(petstoreErrorOf(error).code));
  for await (const orders of await list.query()) console.log(orders.length);
  for await (const { type } of client.events({ after: '0' })) {
    console.log(type);
    break;
  }
`;

test('npm installs the client beside the oldest versions of its peers, with which it does its work and is typed', async () => {
  using folder = createTemporaryFolder();
  const { path: cwd } = folder;
  await writeFile(join(cwd, 'package.json'), '{ "type": "module" }');
  const oldest = Object.entries(manifest.peerDependencies).map(([peer, range]) => `${peer}@${range.replace('^', '')}`);
  expect(oldest).toEqual(['@trpc/client@11.4.0', '@trpc/server@11.4.0', 'superjson@2.2.0']);
  // As in a service that has had them for long: they are exact, and the client comes later.
  await run('npm', ['install', '--no-audit', '--save-exact', ...oldest], { cwd });
  await run('npm', ['install', '--no-audit', tarball], { cwd });

  await using service = await startTestService();
  await writeFile(join(cwd, 'program.mjs'), PROGRAM);
  const { stdout } = await run('node', ['program.mjs', service.origin], { cwd });
  expect(stdout).toBe('9223372036854775807n 0\norder_already_cancelled\n2\norder.placed\n');

  await copyFile(join(PACKAGE, 'examples/trpc-own-client.ts'), join(cwd, 'own-client.ts'));
  await copyFile(join(PACKAGE, 'examples/trpc-orders.ts'), join(cwd, 'orders.ts'));
  const typeRoots = [join(PACKAGE, 'node_modules/@types')];
  const lib = ['es2022', 'esnext.disposable', 'dom'];
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', lib, types: ['node'], typeRoots };
  await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const { stdout: reported } = await run('tsc', ['-p', cwd]).catch((error: { stdout: string }) => error);
  expect(reported).toBe('');
}, 300_000);
