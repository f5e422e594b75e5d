import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PLANS } from '@petstore/domain';
import { expect, test } from 'vitest';
import { ROOT } from './support/documentation.ts';

const { free, pro, business, enterprise } = PLANS;

/** Blanks and line ends are alike, so that a line may be broken anywhere. */
const readWords = (document: string) => readFileSync(join(ROOT, document), 'utf8').replace(/\s+/g, ' ');

/** In whole requests. */
const perSecond = ({ limits }: { limits: { perMinute: number } }) => Math.floor(limits.perMinute / 60);

test.each([
  [
    'docs/ARCHITECTURE.md',
    `a key may have ${free.longListsMax} long lists in flight (Enterprise ${enterprise.longListsMax})`,
  ],
  [
    'docs/guides/limits.md',
    `| long lists of a key, over REST and tRPC together | ${free.longListsMax}; with Enterprise ${enterprise.longListsMax} |`,
  ],
  [
    'docs/guides/limits.md',
    `Free is ${perSecond(free)} request a second, Pro ${perSecond(pro)}, Business ${perSecond(business)}.`,
  ],
])('%s says what the plans allow: %s', (document, statement) => {
  expect(readWords(document)).toContain(statement);
});

test('the documents name one number for all plans but Enterprise', () => {
  expect([pro.longListsMax, business.longListsMax]).toEqual([free.longListsMax, free.longListsMax]);
});
