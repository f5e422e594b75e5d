import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const PACKAGES = ['apps', 'packages', 'tooling'].flatMap((group) =>
  readdirSync(join(ROOT, group)).map((name) => `${group}/${name}`),
);

/** The sources of a package, by their paths from its `src`. Of a folder without sources there are none. */
const sourcesOf = (packageFolder: string): readonly string[] => {
  const folder = join(ROOT, packageFolder, 'src');
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /\.(?:[jt]s|lua)$/.test(path));
  } catch {
    return [];
  }
};

test('a source file has at most 250 lines, and one that a DELETE runs through at most 310', () => {
  const path = new Set(Array.from(read('docs/ARCHITECTURE.md').matchAll(/`([\w./-]+\.ts)`/g), ([, file]) => file));
  const files = PACKAGES.flatMap((folder) => sourcesOf(folder).map((source) => `${folder}/src/${source}`));
  const tooLong = files
    .filter((file) => !file.endsWith('.lua'))
    .map((file) => ({ file, lines: read(file).split('\n').length - 1 }))
    .filter(({ file, lines }) => lines > (path.has(file) ? 310 : 250));
  expect(files.length).toBeGreaterThan(400);
  expect(tooLong).toEqual([]);
});

test('the README of a package names each of its source files, or the folder that holds it', () => {
  const packages = PACKAGES.filter((folder) => sourcesOf(folder).length > 0);
  const unnamed = packages.flatMap((folder) => {
    const names = new Set(Array.from(read(`${folder}/README.md`).matchAll(/`([^`\n]+)`/g), ([, name = '']) => name));
    const inMarks = [...names].map((name) => basename(name));
    const isNamed = (source: string) =>
      basename(source) === 'index.ts' ||
      inMarks.includes(basename(source)) ||
      inMarks.includes(basename(source).replace(/\.\w+$/, '')) ||
      isFolderNamed(dirname(source), names);
    return sourcesOf(folder)
      .filter((source) => !isNamed(source))
      .map((source) => `${folder}/src/${source}`);
  });
  expect(packages.length).toBeGreaterThan(12);
  expect(unnamed).toEqual([]);
});

function isFolderNamed(folder: string, names: ReadonlySet<string>): boolean {
  if (folder === '.') return false;
  const forms = [`${folder}/`, `src/${folder}/`, `src/${folder}`];
  return forms.some((form) => names.has(form)) || isFolderNamed(dirname(folder), names);
}
