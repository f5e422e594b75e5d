import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';
import { Program } from '../support/program.ts';

/** The section of the guide on one generator: its commands, its program, and what that prints. */
const [, SECTION = ''] =
  /^## v2 with openapi-typescript and openapi-fetch\n(.*?)^## /ms.exec(
    readFileSync(join(ROOT, 'docs/guides/client-tools.md'), 'utf8'),
  ) ?? [];
const [commands = '', program = '', printed = ''] = Array.from(
  SECTION.matchAll(/^```\w*\n(.*?)^```$/gms),
  ([, text]) => text,
);

/** Packages come from a registry, which may be slow. */
const INSTALL_TIMEOUT_MS = 180_000;

vi.setConfig({ testTimeout: 2 * INSTALL_TIMEOUT_MS });

test('a client that others generate is installed, compiled and run as the guide has it', async () => {
  using folder = createTemporaryFolder();
  const data = join(folder.path, 'data');
  await using server = new Program([process.execPath, join(ROOT, 'apps/server/src/main.js')], {
    PATH: process.env['PATH'] ?? '',
    DATA_DIR: data,
    PORT: '0',
    LOG_FORMAT: 'json',
  });
  const { publicUrl } = await server.urls();
  // The address and the folder alone are other ones than those of the guide.
  const generated = join(folder.path, 'generated');
  const here = (text: string) =>
    text.replaceAll('http://127.0.0.1:3000', publicUrl).replaceAll('/tmp/generated', generated);
  const keys: { plan: string; text: string }[] = JSON.parse(readFileSync(join(data, 'demo-keys.json'), 'utf8'));
  const env = {
    ...process.env, // how the registry is reached
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    PETSTORE_API_KEY: keys.find(({ plan }) => plan === 'free')?.text,
  };
  const run = (commands: string, cwd: string) =>
    execFileSync('sh', ['-e', '-c', commands], { cwd, env, encoding: 'utf8', timeout: INSTALL_TIMEOUT_MS });

  run(here(commands), folder.path);
  writeFileSync(join(generated, 'shop.ts'), here(program));
  run('npx tsc --noEmit --strict --skipLibCheck --module nodenext --allowImportingTsExtensions shop.ts', generated);
  expect(run('node shop.ts', generated)).toBe(printed);
});
