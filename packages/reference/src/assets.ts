import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';

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

const read = (file: URL | string): string => readFileSync(new URL(file), 'utf8');

/** @param folder the path below which the files are served */
export function loadAssets(folder: string): Assets {
  const styles = [
    new URL('./browser/styles.css', import.meta.url),
    new URL('./browser/reference.css', import.meta.url),
  ];
  const pico = read(import.meta.resolve('@picocss/pico/css/pico.classless.jade.min.css'));
  const texts: Readonly<Record<string, string>> = {
    'favicon.svg': read(new URL('./browser/favicon.svg', import.meta.url)),
    'page.js': read(new URL('./browser/page.js', import.meta.url)),
    'search.js': read(new URL('./browser/search.js', import.meta.url)),
    'console.js': read(new URL('./browser/console.js', import.meta.url)),
    'minisearch.js': read(import.meta.resolve('minisearch')), // search.js loads it
    // A single file loads sooner. Our styles override the styles in a layer.
    [STYLES]: `@layer pico{${pico}}${styles.map(read).join('')}`,
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
