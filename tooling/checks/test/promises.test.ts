import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** A row: what is promised, the file, and the name of the test as its source has it. */
const ROW = /^\| (.+) \| `([\w/.-]+)` \| (.+) \|$/gm;

/** Whether a source has a test of this name: the first argument of a call. */
const hasTest = (source: string, name: string): boolean =>
  ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote},`));

test('each row of docs/promises.md is held by a test that is there', () => {
  const rows = Array.from(readFileSync(join(ROOT, 'docs/promises.md'), 'utf8').matchAll(ROW));
  expect(rows.length).toBeGreaterThanOrEqual(20);
  const missing = rows.filter(([, , file = '', name = '']) => {
    const path = join(ROOT, file);
    return !existsSync(path) || !hasTest(readFileSync(path, 'utf8'), name);
  });
  expect(missing.map(([row]) => row)).toEqual([]);
});
