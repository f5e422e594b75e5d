/**
 * Licences under which the service may use and pass on what others wrote, by their SPDX names. A choice of licences
 * ("(MIT OR GPL-3.0)") is none of them: review such a package when it is added, and add the text as it is.
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

/** What `pnpm licenses list --json` prints: packages by licence. `Unknown` stands for those that name none. */
export type LicenceReport = Readonly<
  Record<string, readonly { readonly name: string; readonly versions: readonly string[] }[]>
>;

/** The packages that may not be used, one a line: `name@version: licence`. */
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
