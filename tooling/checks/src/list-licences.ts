import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import type { LicenceReport } from './licences.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** The packages that others run or install. The dots include the packages of this repository that these use. */
const PUBLISHED = ['@petstore/server...', '@petstore/cli...', '@petstore/client...'];

/**
 * Lists the licences of all dependencies of the server, the command line and the client with pnpm.
 *
 * @param root the root of the workspace
 * @throws Error if pnpm fails; pnpm has then printed the reason on standard error
 */
export function listLicences(root: string = ROOT): LicenceReport {
  const filters = PUBLISHED.flatMap((name) => ['--filter-prod', name]);
  const report = execFileSync('pnpm', [...filters, 'licenses', 'list', '--prod', '--json'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(report);
}
