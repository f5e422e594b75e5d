import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
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
const OWN_NAMES = ['favicon.svg', 'theme.js', 'base-url.js', 'page.js', 'search.js', 'console.js', 'format-json.js'];

/** All styles as one file, which is the sooner there. */
export const STYLES_NAME = 'styles.css';
const STYLES = ['site.css', 'navigation.css', 'search.css', 'text.css', 'reference.css', 'console.css', 'print.css'];

/** MiniSearch, which has no dependencies. */
export const SEARCH_LIBRARY_NAME = 'minisearch.js';

/** Finds the files that pages load: our own, and those of the installed libraries. */
export function findAssets(): Assets {
  const searchLibrary = fileURLToPath(import.meta.resolve('minisearch'));
  const files = [...[...OWN_NAMES, ...STYLES].map((name) => join(OWN_FOLDER, name)), searchLibrary];
  const contents = files.map((file) => readFileSync(file, 'utf8'));
  const version = hash('sha256', contents.join('\0'), 'hex').slice(0, 12);
  return {
    path: `${REFERENCE_PATH}/assets/${version}`,
    files: [
      assetFile(STYLES_NAME, ...STYLES.map((name) => join(OWN_FOLDER, name))),
      ...OWN_NAMES.map((name) => assetFile(name, join(OWN_FOLDER, name))),
      assetFile(SEARCH_LIBRARY_NAME, searchLibrary),
    ],
  };
}

function assetFile(name: string, ...parts: readonly string[]): AssetFile {
  const contentType = CONTENT_TYPES[extname(name)];
  if (contentType === undefined) throw new Error(`CONTENT_TYPES has no content type for ${name}; add one.`);
  return { name, contentType, read: async () => Buffer.concat(await Promise.all(parts.map((part) => readFile(part)))) };
}
