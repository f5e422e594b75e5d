import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const GUIDE = join(import.meta.dirname, '../../../docs/guides/client-tools.md');

/** The programs that the guide shows, so that what is tried is what it says. */
export function readGuideFiles(): Readonly<Record<'exact-fetch.ts' | 'shop.ts', string>> {
  const markdown = readFileSync(GUIDE, 'utf8');
  const [exactFetch, shop] = Array.from(markdown.matchAll(/^```ts\n(.*?)^```$/gms), ([, code]) => code);
  if (exactFetch === undefined || shop === undefined) throw new Error(`${GUIDE} shows no two programs in TypeScript`);
  return { 'exact-fetch.ts': exactFetch, 'shop.ts': shop };
}
