import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const PACKAGE = resolve(import.meta.dirname, '..');
const DIST = join(PACKAGE, 'dist');
/** Named by tsconfig.build.json, in the place of the service's sources. */
const SERVICE_TYPES = join(DIST, 'service-types.d.ts');
const ROUTER_TYPES = join(DIST, 'trpc/router.d.ts');

/**
 * Builds the package as it is published. The compiler writes a module and a declaration for each source. What the client
 * knows of the service's types becomes one more declaration, because the service is not published.
 */
export async function buildPackage(): Promise<void> {
  await rm(DIST, { recursive: true, force: true });
  const emitted = await mkdtemp(join(tmpdir(), 'petstore-client-'));
  try {
    runCompiler('-p', 'tsconfig.service-types.json', '--outDir', emitted);
    await bundleServiceTypes(emitted);
  } finally {
    await rm(emitted, { recursive: true });
  }
  runCompiler('-p', 'tsconfig.build.json');
  const declaration = await readFile(ROUTER_TYPES, 'utf8');
  await writeFile(ROUTER_TYPES, declaration.replace('@petstore/api', '../service-types.ts'));
}

const runCompiler = (...args: string[]) => execFileSync('tsc', args, { cwd: PACKAGE, stdio: 'inherit' });

/** Before the names of the service's packages, and of the folders that they are in. */
const SCOPE = '@petstore/';

/** Parts of a procedure's type that say how the service works, which is nothing to callers. */
const INNER_TYPES = {
  'api/src/context.d.ts': 'Context',
  'api/src/rest/rest-contract.d.ts': 'ProcedureMeta',
} as const;

/** @param emitted where the declarations of the service's packages are */
async function bundleServiceTypes(emitted: string): Promise<void> {
  for (const [file, name] of Object.entries(INNER_TYPES)) {
    await writeFile(join(emitted, file), `export type ${name} = object;\n`);
  }
  const entry = join(emitted, 'entry.d.ts');
  await writeFile(
    entry,
    "export type { AppRouter } from './api/src/router.ts';\nexport type { ErrorCode } from './api/src/error-catalogue.ts';\n",
  );
  const bundle = await rolldown({
    input: { 'service-types': entry },
    // Of what lies outside only tRPC's types are left in the end, which the package's users have.
    external: (id) => !(isAbsolute(id) || id.startsWith('.') || id.startsWith(SCOPE)),
    plugins: [
      {
        name: 'service-packages',
        resolveId: {
          order: 'pre',
          handler: (id) => (id.startsWith(SCOPE) ? join(emitted, id.slice(SCOPE.length), 'src/index.d.ts') : null),
        },
      },
      dts({ dtsInput: true, tsconfig: false }),
    ],
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  // The bundler tells where each part came from: a folder that is gone by now.
  await mkdir(DIST);
  await writeFile(SERVICE_TYPES, output[0].code.replaceAll(/^\/\/ \.\.?\/.*\n/gm, ''));
}
