import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** A row: what is promised, the file, and the name of the test as its source has it. */
const ROW = /^\| (.+) \| `([\w/.-]+)` \| (.+) \|$/gm;

/** A test, or a group around it, that is not run or need not hold. */
const LEFT_OUT = /\b(?:test|it|describe)\b[.\w]*\.(?:skip|skipIf|runIf|todo|fails)\b|\b(?:skip|todo|fails): true/;

/** Whether a source has a test of this name, the first argument of a call, and leaves no test out. */
const holds = (source: string, name: string): boolean =>
  !LEFT_OUT.test(source) && ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote},`));

test('each row of docs/promises.md is held by a test that is there and runs', () => {
  const rows = Array.from(readFileSync(join(ROOT, 'docs/promises.md'), 'utf8').matchAll(ROW));
  expect(rows).toHaveLength(22); // a promise goes, or its row changes its form, only on purpose
  const missing = rows.filter(([, , file = '', name = '']) => {
    const path = join(ROOT, file);
    return !existsSync(path) || !holds(readFileSync(path, 'utf8'), name);
  });
  expect(missing.map(([row]) => row)).toEqual([]);
});
