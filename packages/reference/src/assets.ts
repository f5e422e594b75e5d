import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files that pages load: ours and those of libraries. */
export interface Assets {
  /** The path of the files' folder. It contains a hash of their contents: browsers may keep them for ever. */
  readonly path: string;
  readonly files: readonly { readonly name: string; readonly contentType: string; readonly text: string }[];
}

/** The modules that each page loads. */
export const SCRIPTS = ['page.js', 'search.js', 'console.js'];
export const STYLES = 'styles.css';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** @param folder the path below which the files are served */
export function loadAssets(folder: string): Assets {
  const readOwn = (name: string) => readFileSync(join(import.meta.dirname, 'browser', name), 'utf8');
  const readLibrary = (url: string) => readFileSync(fileURLToPath(url), 'utf8');
  const pico = readLibrary(import.meta.resolve('@picocss/pico/css/pico.classless.jade.min.css'));
  const texts: Readonly<Record<string, string>> = {
    ...Object.fromEntries(['favicon.svg', ...SCRIPTS].map((name) => [name, readOwn(name)])),
    // A single file loads sooner. Our styles override the styles in a layer.
    [STYLES]: `@layer pico{${pico}}${readOwn('styles.css')}${readOwn('reference.css')}`,
    'minisearch.js': readLibrary(import.meta.resolve('minisearch')), // search.js loads it
  };
  const version = hash('sha256', Object.values(texts).join('\0'), 'hex').slice(0, 12);
  return {
    path: `${folder}/${version}`,
    files: Object.entries(texts).map(([name, text]) => ({
      name,
      contentType: CONTENT_TYPES[extname(name)] ?? '',
      text,
    })),
  };
}
