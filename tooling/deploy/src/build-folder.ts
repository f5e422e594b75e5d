import { globSync } from 'node:fs';
import { chmod, copyFile, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, posix, relative, resolve } from 'node:path';
import { readCommit } from '@petstore/runtime';
import { NODE_RANGE } from '@petstore/runtime/require-node';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { renderNotices } from './notices.ts';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** Files that sources read, by source. They have the same paths below {@link RESOURCES}. */
const READ: Readonly<Record<string, readonly string[]>> = {
  'packages/persistence/src/schema/migrations/0001-initial-schema.ts': [
    'packages/persistence/src/schema/migrations/*.sql',
  ],
  'packages/rate-limit/src/redis-limiter.ts': ['packages/rate-limit/src/limiter.lua'],
  'packages/reference/src/guides.ts': ['docs/errors.md', 'docs/guides/*.md'],
  'packages/reference/src/assets.ts': ['packages/reference/src/browser/*.{js,css,svg}'],
};
const RESOURCES = 'resources';
const CHUNKS = 'chunks';

/**
 * Packages with files that are sent to browsers unchanged, and therefore cannot be bundled: these files, and those that
 * Node needs to find the package by its name.
 */
const SERVED: Readonly<Record<string, readonly string[]>> = {
  '@picocss/pico': ['package.json', 'css/pico.classless.jade.min.css'],
  minisearch: ['package.json', 'dist/es/index.js'],
};
const SERVED_BY = join(ROOT, 'packages/reference/node_modules');

/** Optional dependencies of libraries. Without this list, a build would include those that the workspace happens to have. */
const OPTIONAL = ['pg-native', 'tinyglobby'];

/**
 * Builds a folder that only needs Node: `server.js`, and the command line `petstore.js`.
 *
 * @param folder its existing content is removed
 * @throws Error if a source reads files that are not listed here
 */
export async function buildFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const chunks = await bundle(folder);
  await chmod(join(folder, 'petstore.js'), 0o755);
  await copyFiles(ROOT, Object.values(READ).flat(), join(folder, RESOURCES));
  for (const [name, patterns] of Object.entries(SERVED)) {
    await copyFiles(join(SERVED_BY, name), patterns, join(folder, 'node_modules', name));
  }
  const { name, version, description, license } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const manifest = {
    name,
    version,
    description,
    license,
    private: true,
    type: 'module',
    engines: { node: NODE_RANGE },
  };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await copyFile(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  const served = Object.keys(SERVED).map((served) => join(SERVED_BY, served, 'package.json'));
  const notices = await renderNotices([...chunks.flatMap(({ moduleIds }) => moduleIds), ...served]);
  await writeFile(join(folder, 'THIRD-PARTY-NOTICES.txt'), notices);
}

async function bundle(folder: string): Promise<readonly OutputChunk[]> {
  const entries = join(import.meta.dirname, 'entries');
  await using bundle = await rolldown({
    input: { server: join(entries, 'server.js'), petstore: join(entries, 'petstore.js') },
    cwd: ROOT,
    platform: 'node',
    external: OPTIONAL,
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [withoutEmbeddedServers, namingCommit, readingResources, mappingOwnSources],
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'es',
    chunkFileNames: `${CHUNKS}/[name]-[hash].js`,
    sourcemap: true,
    sourcemapExcludeSources: true,
    // Stack traces name sources as if this folder were the workspace.
    sourcemapPathTransform: (source, map) => posix.join('..', relative(ROOT, resolve(dirname(map), source))),
  });
  return output.filter((part) => part.type === 'chunk');
}

/** A production machine has its own PostgreSQL and Redis. */
const withoutEmbeddedServers: Plugin = {
  name: 'without-embedded-postgres',
  load: {
    filter: { id: join(ROOT, 'packages/runtime/src/embedded/embedded-postgres.ts') },
    handler: () => `export * from ${JSON.stringify(join(import.meta.dirname, 'without-embedded-postgres.ts'))};`,
  },
};

/** The deployed folder is not in a repository. Nor is the build of an image, which is given the commit. */
const namingCommit: Plugin = {
  name: 'naming-commit',
  load: {
    filter: { id: join(ROOT, 'packages/runtime/src/commit.ts') },
    handler: () => `export const readCommit = () => ${JSON.stringify(process.env['COMMIT'] || readCommit())};`,
  },
};

/** Sources find the files that they read relative to the folder of their chunk. */
const readingResources: Plugin = {
  name: 'reading-resources',
  transform: {
    filter: { id: { include: /\/src\//, exclude: /\/node_modules\// }, code: /\bimport\.meta\./ },
    handler(code, id) {
      const source = relative(ROOT, id);
      if (READ[source] === undefined)
        throw new Error(`${source} uses import.meta: name the files that it reads in READ.`);
      const here = posix.join('..', RESOURCES, source);
      return {
        code: code
          .replaceAll(/\bimport\.meta\.url\b/g, `new URL(${JSON.stringify(here)}, import.meta.url).href`)
          .replaceAll(/\bimport\.meta\.dirname\b/g, `(import.meta.dirname + ${JSON.stringify(`/${dirname(here)}`)})`),
        map: null, // all lines stay in place
      };
    },
  },
};

/** Source maps cover only our lines; the libraries would make up most of their size. */
const mappingOwnSources: Plugin = {
  name: 'mapping-own-sources',
  transform: {
    filter: { id: /\/node_modules\// },
    handler: (code) => ({ code, map: { mappings: '' } }),
  },
};

async function copyFiles(from: string, patterns: readonly string[], to: string): Promise<void> {
  for (const pattern of patterns) {
    const files = globSync(pattern, { cwd: from });
    if (files.length === 0) throw new Error(`There is no ${join(from, pattern)}.`);
    for (const file of files) await cp(join(from, file), join(to, file));
  }
}
