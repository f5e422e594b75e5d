import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { renderNotices } from '../../../tooling/deploy/src/notices.ts';

const PACKAGE = resolve(import.meta.dirname, '..');
/** Below the package, so that what is compiled here finds the types of tRPC: unresolved ones would count as `any`. */
const WORK = join(PACKAGE, 'node_modules/.cache');

/**
 * Builds the package as it is published. The compiler writes a module and a declaration for each source. The service's
 * types that the client uses become one more declaration, because the service is not published. The service for tests is
 * one module with all that it needs.
 *
 * @param dist the folder to write to; its former content is removed
 */
export async function buildPackage(dist = join(PACKAGE, 'dist')): Promise<void> {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  await mkdir(WORK, { recursive: true });
  const work = await mkdtemp(join(WORK, 'build-'));
  try {
    runCompiler(join(PACKAGE, 'tsconfig.service-types.json'), '--outDir', work);
    const serviceTypes = join(work, 'service-types.d.ts');
    await writeFile(serviceTypes, await bundleServiceTypes(work));
    await copyFile(serviceTypes, join(dist, 'service-types.d.ts'));
    const project = join(work, 'tsconfig.json');
    const paths = { '@petstore/api': [serviceTypes] };
    const compilerOptions = { outDir: dist, paths };
    await writeFile(project, JSON.stringify({ extends: join(PACKAGE, 'tsconfig.build.json'), compilerOptions }));
    runCompiler(project);
  } finally {
    await rm(work, { recursive: true });
  }
  const router = join(dist, 'trpc/router.d.ts');
  const declaration = await readFile(router, 'utf8');
  await writeFile(router, declaration.replaceAll('@petstore/api', '../service-types.ts'));
  await bundleTesting(join(dist, 'testing'));
}

/** Bundles the service for tests with its libraries, whose licences come with it, and its declaration. */
async function bundleTesting(folder: string): Promise<void> {
  const input = { index: join(PACKAGE, 'src/testing.ts') };
  const bundle = await rolldown({
    input,
    platform: 'node',
    plugins: [leaveOut],
    treeshake: {
      // What only the server uses, such as the driver of Redis, is left out.
      moduleSideEffects: [{ test: /\/(?:(?:apps|packages)\/[^/]+\/src|node_modules\/ioredis)\//, sideEffects: false }],
    },
    transform: { target: 'node22', define: { 'process.env.NODE_ENV': '"production"' } },
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  const { output } = await bundle.write({ dir: folder, format: 'es', codeSplitting: false, comments: false });
  await bundle.close();
  const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  await writeFile(join(folder, 'THIRD-PARTY-NOTICES.txt'), await renderNotices(modules));

  const types = await rolldown({ input, plugins: [dts({ dtsOnly: true, generator: 'oxc', tsconfig: false })] });
  await types.write({ dir: folder, format: 'es' });
  await types.close();
}

const NOTHING = 'left-out';
const UTILITIES_OF_ZOD = 'trpc-to-openapi/dist/esm/utils/zod.mjs';

/** Leaves out what trpc-to-openapi brings and the service for tests never runs, which would make it half as large again. */
const leaveOut: Plugin = {
  name: 'leave-out',
  // Reads bodies of requests, which no operation over REST has.
  resolveId: { filter: { id: /^co-body$/ }, handler: () => NOTHING },
  load: { filter: { id: /^left-out$/ }, handler: () => 'export default undefined;' },
  transform: {
    filter: { id: new RegExp(`${UTILITIES_OF_ZOD}$`) },
    handler(code) {
      // It asks for the name in the whole of zod, which would all be kept for that, messages in fifty languages included.
      const kept = code.replace("'coerce' in z", 'true');
      if (kept === code) throw new Error(`${UTILITIES_OF_ZOD} no longer asks for all of zod: this is not needed.`);
      return kept;
    },
  },
};

const runCompiler = (project: string, ...args: string[]) =>
  execFileSync('tsc', ['-p', project, ...args], { cwd: PACKAGE, stdio: 'inherit' });

/** The prefix of the service's packages; the rest of a name is its folder. */
const SCOPE = '@petstore/';

/** Parts of a procedure's type that say how the service works, which callers do not need. */
const INNER_TYPES = {
  'api/src/context.d.ts': 'Context',
  'api/src/procedure-contract.d.ts': 'ProcedureContract',
} as const;

/**
 * @param emitted where the declarations of the service's packages are
 * @returns one declaration of all that callers need
 */
async function bundleServiceTypes(emitted: string): Promise<string> {
  for (const [file, name] of Object.entries(INNER_TYPES)) {
    await writeFile(join(emitted, file), `export type ${name} = object;\n`);
  }
  const entry = join(emitted, 'entry.d.ts');
  await writeFile(
    entry,
    [
      "export type { AppRouter } from './api/src/router.ts';",
      "export type { ErrorCode } from './api/src/error-catalogue.ts';",
      "export type { TrpcErrorShape } from './api/src/trpc/format-error.ts';",
    ].join('\n'),
  );
  const bundle = await rolldown({
    input: { 'service-types': entry },
    // The only external types that remain are tRPC's, which the package's users have installed.
    external: (id) => !(isAbsolute(id) || id.startsWith('.') || id.startsWith(SCOPE)),
    plugins: [
      {
        name: 'service-packages',
        resolveId: {
          order: 'pre',
          handler: (id) => (id.startsWith(SCOPE) ? join(emitted, id.slice(SCOPE.length), 'src/index.d.ts') : null),
        },
      },
      // The input is declarations: the generator has nothing to do.
      dts({ dtsOnly: true, generator: 'oxc', tsconfig: false }),
    ],
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  // The bundler names the source of each part, in a folder that is removed afterwards.
  return exportAll(output[0].code.replaceAll(/^\/\/ \S+\.d\.ts\n/gm, ''));
}

/**
 * Exports every declaration instead of the entry's alone: the compiler writes declarations of programs that infer these
 * types only if it can name all of them.
 */
function exportAll(declarations: string): string {
  const names = Array.from(
    declarations.matchAll(/^(?:declare )?(?:class|const|enum|function|interface|type) (\w+)/gm),
    ([, name]) => name,
  );
  return declarations.replace(/^export type \{[^}]*\};$/m, `export type { ${names.join(', ')} };`);
}
