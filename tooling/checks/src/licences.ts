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
