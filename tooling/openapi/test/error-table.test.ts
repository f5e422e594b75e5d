import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS_GUIDE, withErrorTable } from '../src/error-table.ts';

const committed = readFileSync(ERRORS_GUIDE, 'utf8');

test('the guide lists all errors: run "pnpm --filter @petstore/tooling-openapi generate" after a change', () => {
  expect(committed).toBe(withErrorTable(committed));
});

test('a row that is missing or wrong is made anew, and the rest of the guide is left as it is', () => {
  const changed = committed
    .replace(/^\| 404 \| \[`pet_not_found`.*\n/m, '')
    .replace('| The order has shipped. |', '| It left. |');
  expect(changed).not.toBe(committed);
  expect(withErrorTable(changed.replace('\n## ', '\nA sentence.\n\n## '))).toBe(
    committed.replace('\n## ', '\nA sentence.\n\n## '),
  );
});
