import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openTestDatabase } from './test-api.ts';

const PACKAGE = new URL('..', import.meta.url);
const EXAMPLE = new URL('examples/in-process.ts', PACKAGE);

test('the example of the README is the file that is checked with the package, and prints what the README shows', async () => {
  const readme = readFileSync(new URL('README.md', PACKAGE), 'utf8');
  const [, shown, printed] = /^```ts\n(.*?)^```\n\n```\n(.*?)^```/ms.exec(readme) ?? [];
  expect(shown).toBe(readFileSync(EXAMPLE, 'utf8'));
  await using database = await openTestDatabase();
  const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(EXAMPLE)], {
    env: { ...process.env, DATABASE_URL: database.url },
  });
  expect(stdout).toBe(printed);
});
