import { globSync } from 'node:fs';
import { chmod, copyFile, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, posix, relative, resolve } from 'node:path';
import { readCommit } from '@petstore/runtime';
import { NODE_RANGE } from '@petstore/runtime/require-node';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { renderNotices } from './notices.ts';

export const ROOT = resolve(import.meta.dirname, '../../..');

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
 * @throws Error if the bundler warns of anything, or a file is missing
 */
export async function buildFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const chunks = await bundle(folder);
  await chmod(join(folder, 'petstore.js'), 0o755);
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
    plugins: [withoutEmbeddedServers, namingCommit, mappingOwnSources],
    // Files that sources read: `new URL('./limiter.lua', import.meta.url)`.
    experimental: { resolveNewUrlToAsset: true },
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
