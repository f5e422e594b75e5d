import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildPackage } from '../../scripts/build-package.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
/** The workspace's own, since npm, which may run this test, packs without `publishConfig`. */
const PNPM = resolve(PACKAGE, '../../node_modules/.bin/pnpm');
const run = promisify(execFile);

/**
 * Packs the package as it is published, from a copy, so that nothing is written where others read.
 *
 * @returns the tarball
 */
export async function packPackage(copy: string): Promise<string> {
  await buildPackage(join(copy, 'dist'));
  await copyFile(join(PACKAGE, 'README.md'), join(copy, 'README.md'));
  const {
    devDependencies: _,
    scripts: _scripts,
    ...manifest
  } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'));
  await writeFile(join(copy, 'package.json'), JSON.stringify(manifest));
  await run(PNPM, ['pack'], { cwd: copy });
  return join(copy, `petstore-client-${manifest.version}.tgz`);
}
