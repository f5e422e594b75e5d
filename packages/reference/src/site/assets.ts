import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REFERENCE_PATH } from './site-paths.ts';

/** A file that pages load; its name is relative to {@link Assets.path}. */
interface AssetFile {
  readonly name: string;
  readonly contentType: string;
  read(): Promise<Uint8Array>;
}

export interface Assets {
  /** Includes a hash of the contents, so that browsers may cache the files forever. */
  readonly path: string;
  readonly files: readonly AssetFile[];
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const OWN_FOLDER = join(import.meta.dirname, '../browser');
const OWN_NAMES = [
  'reference.js',
  'prepare-document.js',
  'code-samples.js',
  'theme.js',
  'search.js',
  'base-url.js',
  'site.css',
  'guide.css',
  'favicon.svg',
];

/** The entry of Scalar's bundle, which loads `chunks/` beside it when needed. */
export const BUNDLE_NAME = 'scalar/standalone.esm.js';

/** MiniSearch, which has no dependencies. */
export const SEARCH_LIBRARY_NAME = 'minisearch.js';

/** Finds the files that pages load: our own, and those of the installed libraries. */
export function findAssets(): Assets {
  const bundle = findBundle();
  const searchLibrary = fileURLToPath(import.meta.resolve('minisearch'));
  const files = [...OWN_NAMES.map((name) => join(OWN_FOLDER, name)), searchLibrary];
  const contents = files.map((file) => readFileSync(file, 'utf8'));
  const version = hash('sha256', [bundle.version, ...contents].join('\0'), 'hex').slice(0, 12);
  return {
    path: `${REFERENCE_PATH}/assets/${version}`,
    files: [
      ...OWN_NAMES.map((name) => assetFile(name, join(OWN_FOLDER, name))),
      assetFile(SEARCH_LIBRARY_NAME, searchLibrary),
      ...bundle.names.map((name) => assetFile(`scalar/${name}`, join(bundle.folder, name))),
    ],
  };
}

function findBundle(): { readonly folder: string; readonly version: string; readonly names: readonly string[] } {
  const main = createRequire(import.meta.url).resolve('@scalar/api-reference');
  const folder = join(dirname(main), 'browser');
  const manifest: { readonly version: string } = JSON.parse(readFileSync(join(main, '../../package.json'), 'utf8'));
  const chunks = readdirSync(join(folder, 'chunks')).filter((name) => name.endsWith('.js'));
  return { folder, version: manifest.version, names: ['standalone.esm.js', ...chunks.map((name) => `chunks/${name}`)] };
}

function assetFile(name: string, file: string): AssetFile {
  const contentType = CONTENT_TYPES[extname(name)];
  if (contentType === undefined) throw new Error(`CONTENT_TYPES has no content type for ${name}; add one.`);
  return { name, contentType, read: () => readFile(file) };
}
