import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTemporaryFolder, createTestDatabase, createTestRedis } from '@petstore/testing';
import { expect, test } from 'vitest';
import { ROOT } from '../support/documentation.ts';
import { SpawnedServer } from '../support/spawned-server.ts';

/** A CycloneDX document, as far as it is read here. */
interface Sbom {
  readonly bomFormat: string;
  readonly components: readonly Component[];
}

interface Component {
  /** The scope of its name, with the @. */
  readonly group?: string;
  readonly name: string;
  readonly version: string;
}

const nameOf = ({ group, name, version }: Component) => `${group === undefined ? '' : `${group}/`}${name}@${version}`;

/** Not needed by a server with an external database. */
const DEVELOPMENT_ONLY = ['vitest', '@biomejs/biome', 'typescript', 'turbo', '@petstore/testing'];

/** Runs pnpm. @returns its standard output */
async function pnpm(arguments_: readonly string[], folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('pnpm', arguments_, { cwd: folder, maxBuffer: 10_000_000 });
  return stdout;
}

/** The command with which docs/operations.md makes a production install. */
function documentedInstall(): readonly string[] {
  const text = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, command = ''] = /^npx --yes pnpm@12 (install --prod .*)$/m.exec(text) ?? [];
  return command.replaceAll("'", '').split(' ');
}

const NOT_COPIED = new Set(['node_modules', '.git', '.data', '.turbo', 'dist']);

/** Copies what a checkout contains. */
function copyTree(folder: string): void {
  cpSync(ROOT, folder, { recursive: true, filter: (source) => !NOT_COPIED.has(basename(source)) });
}

/** The package that each of these modules is a part of, as `name@version`. */
function packagesOf(urls: readonly string[]): readonly string[] {
  const packages = urls.filter((url) => url.startsWith('file:')).map((url) => findPackage(dirname(fileURLToPath(url))));
  return [...new Set(packages)].sort();
}

function findPackage(folder: string): string {
  const file = join(folder, 'package.json');
  if (existsSync(file)) {
    const { name, version } = JSON.parse(readFileSync(file, 'utf8'));
    // Packages contain further such files without a name, which only set the module type.
    if (name !== undefined && version !== undefined) return `${name}@${version}`;
  }
  return findPackage(dirname(folder));
}

/** The packages from elsewhere that pnpm has put into a folder. */
function installedPackages(folder: string): readonly string[] {
  const store = join(folder, 'node_modules/.pnpm');
  const packages = readdirSync(store).flatMap((entry) => {
    // Each contains a package and, beside it, links to its dependencies.
    const [, scope = '', name = ''] = /^(?:(@[^+]+)\+)?([^@]+)@/.exec(entry) ?? [];
    const own = join(store, entry, 'node_modules', scope, name);
    return existsSync(own) ? [findPackage(own)] : [];
  });
  // A package occurs once for each set of its peer dependencies.
  return [...new Set(packages)].sort();
}

test('a production install serves, and its SBOM lists all packages that are loaded or installed, and no others', async () => {
  await using resources = new AsyncDisposableStack();
  const { path: folder } = resources.use(createTemporaryFolder());
  const { url: databaseUrl } = resources.use(await createTestDatabase());
  const { url: redisUrl } = resources.use(await createTestRedis());
  const production = join(folder, 'production');
  const loadedModules = join(folder, 'loaded-modules');
  copyTree(production);
  await pnpm([...documentedInstall(), '--prefer-offline'], production);
  const hook = import.meta.resolve('@petstore/testing/list-loaded-modules');
  const main = join(production, 'apps/server/src/main.js');
  const withoutDatabase = resources.use(new SpawnedServer(join(folder, 'no-database'), {}, main));
  expect((await withoutDatabase.exited).code).toBe(1);
  expect(withoutDatabase.stderr).toMatch(/no embedded PostgreSQL for this machine .* Set DATABASE_URL\./);
  const withTraces = { DATABASE_URL: databaseUrl, OTEL_TRACES_EXPORTER: 'console' };
  const withoutOptional = resources.use(new SpawnedServer(join(folder, 'traces'), withTraces, main));
  expect((await withoutOptional.exited).code).toBe(1);
  expect(withoutOptional.stderr).toMatch(/^petstore: OTEL_\* enables tracing, but OpenTelemetry is not installed\./);
  const server = resources.use(
    new SpawnedServer(
      join(folder, 'data'),
      {
        NODE_ENV: 'production',
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        LOG_FORMAT: 'pretty',
        NODE_OPTIONS: `--import=${hook}`,
        LOADED_MODULES: loadedModules,
      },
      main,
    ),
  );
  const url = await server.url();
  for (const path of ['/v1/openapi.json', '/v1/openapi.yaml', '/docs/']) {
    expect(`${path} ${(await fetch(url + path)).status}`).toBe(`${path} 200`);
  }
  expect((await server.readiness()).status).toBe(200);
  expect(await server.stop()).toMatchObject({ code: 0, signal: null });

  const sbom: Sbom = JSON.parse(await pnpm(['run', '--silent', 'sbom'], ROOT));
  const parts = ['@petstore/server@1.0.0', ...sbom.components.map(nameOf)]; // the server is what they are parts of
  expect(sbom.bomFormat).toBe('CycloneDX');
  const loaded = packagesOf(readFileSync(loadedModules, 'utf8').trim().split('\n'));
  expect(loaded).toEqual(expect.arrayContaining([expect.stringMatching(/^find-my-way@/), '@petstore/domain@1.0.0']));
  expect(loaded.filter((name) => !parts.includes(name))).toEqual([]);
  const installed = installedPackages(production);
  expect(parts.filter((name) => !name.startsWith('@petstore/')).sort()).toEqual(installed);
  const names = [...parts, ...installed].map((name) => name.slice(0, name.lastIndexOf('@')));
  expect(names.filter((name) => DEVELOPMENT_ONLY.includes(name))).toEqual([]);
}, 240_000);
