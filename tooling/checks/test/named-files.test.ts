import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Paths from the root, as documents write them: in code marks. */
const PATH = /`((?:apps|docs|packages|tooling)\/[\w./-]+)`/g;
const namedBy = (document: string) => [...new Set(Array.from(read(document).matchAll(PATH), ([, path = '']) => path))];

const isTest = (path: string) => /\.(?:test|abuse)\.ts$/.test(path);

describe('what a document names is there:', () => {
  test.each([
    ['docs/security.md', 40],
    ['docs/ARCHITECTURE.md', 20],
  ])('%s', (document, atLeast) => {
    const paths = namedBy(document);
    expect(paths.length).toBeGreaterThanOrEqual(atLeast);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

/** A name of our code, as documents write it: two words at least, in camel case or capitals. */
const IDENTIFIER = /`((?=\w*[a-z][A-Z]|[A-Z]+_)[A-Za-z]\w+)(?:\([^`]*\))?`/g;

/** Names of libraries, languages and systems that our code does not use. */
const NAMES_OF_OTHERS = [
  'HTTPS_PROXY', // Node, with NODE_USE_ENV_PROXY=1
  'UseNumber', // Go
  'connectionTimeout', // Fastify
  'frameworkErrors', // Fastify
  'httpLink', // tRPC
  'idsAsStrings',
  'minimumReleaseAgeExclude', // pnpm
  'requestInterceptor', // Swagger UI
  'retryLink', // tRPC
];

test('each identifier that a document names is in the code', () => {
  const sources = globSync(
    [
      '{apps,packages,tooling}/*/{src,test}/**/*.{ts,js,lua,sql}',
      '{apps,packages,tooling}/*/package.json',
      'deploy/**',
    ],
    { cwd: ROOT, withFileTypes: true },
  ).filter((entry) => entry.isFile());
  const words = new Set(
    sources.flatMap((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8').match(/\w+/g) ?? []),
  );
  const documents = globSync(['*.md', 'docs/**/*.md', '{apps,packages,tooling}/*/*.md'], { cwd: ROOT });
  const missing = documents.flatMap((document) => {
    const named = Array.from(read(document).matchAll(IDENTIFIER), ([, name = '']) => name);
    return [...new Set(named)]
      .filter((name) => !words.has(name) && !NAMES_OF_OTHERS.includes(name))
      .map((name) => `${document} names ${name}`);
  });
  expect(missing).toEqual([]);
});

/** The rows of a table that has four columns, without its head. */
const rowsBelow = (heading: string): readonly string[] => {
  const [, section = ''] = read('docs/security.md').split(`\n## ${heading}\n`);
  const [, ...lines] = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => /^\|(?:[^|]*\|){4}$/.test(line));
  return lines.filter((line) => !line.startsWith('| ---'));
};

test('each attack that docs/security.md lists, and each risk of the OWASP list, is held by files with tests', () => {
  const tests = namedBy('docs/security.md').filter(isTest);
  expect(tests.filter((path) => !/^\s*(?:describe|it|test)(?:\.\w+)?\(/m.test(read(path)))).toEqual([]);

  const attacks = rowsBelow('Attacks, and what bounds them');
  expect(attacks.length).toBeGreaterThanOrEqual(15);
  expect(attacks.filter((row) => !row.split('`').some(isTest))).toEqual([]);

  const risks = rowsBelow('OWASP API Security Top 10 (2023)');
  expect(risks.map((row) => row.slice(2).split(' ')[0])).toEqual(Array.from({ length: 10 }, (_, i) => `API${i + 1}`));
  // The one is the whole table above it, the other applies to nothing here.
  const untested = risks.filter((row) => !row.split('`').some(isTest)).map((row) => row.slice(2, 6));
  expect(untested).toEqual(['API4', 'API7']);
});
