import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import type { LicenceReport } from './licences.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** What is run or installed by others. The dots stand for the packages of this repository that these use. */
const PUBLISHED = ['@petstore/server...', '@petstore/cli...', '@petstore/client...'];

/**
 * The licences of all that the server, the command line and the client bring along, by pnpm.
 *
 * @param root of the workspace
 * @throws Error if pnpm fails, having printed why on standard error
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
