import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

/**
 * Licences under which the service may use and distribute the work of others, by their SPDX names. A choice of licences
 * ("(MIT OR GPL-3.0)") is not among them: review such a package when it is added, and add its text unchanged.
 */
export const ALLOWED_LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PostgreSQL',
]);

/** The output of `pnpm licenses list --json`: packages by licence. Packages without a licence are under `Unknown`. */
export type LicenceReport = Readonly<
  Record<string, readonly { readonly name: string; readonly versions: readonly string[] }[]>
>;

/** The packages that may not be used, one per line: `name@version: licence`. */
export function findRefused(report: LicenceReport): readonly string[] {
  return Object.entries(report)
    .filter(([licence]) => !ALLOWED_LICENCES.has(licence))
    .flatMap(([licence, packages]) =>
      packages.flatMap(({ name, versions }) => versions.map((version) => `${name}@${version}: ${licence}`)),
    )
    .sort();
}

export const countPackages = (report: LicenceReport): number =>
  Object.values(report)
    .flat()
    .reduce((count, { versions }) => count + versions.length, 0);

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
