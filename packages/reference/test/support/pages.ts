import { ERROR_CATALOGUE } from '@petstore/api';

export const ERROR_CODES = Object.keys(ERROR_CATALOGUE);
export const GUIDE_PATHS = [
  '/docs/five-minutes-rest',
  '/docs/five-minutes-trpc',
  '/docs/follow-orders',
  '/docs/authentication',
  '/docs/errors',
  '/docs/limits',
  '/docs/64-bit-ids',
  '/docs/client-tools',
  '/docs/versions',
  '/docs/v2-preview',
  '/docs/changelog',
];
export const ERROR_PATHS = ERROR_CODES.map((code) => `/docs/errors/${code}`);
/** Every page. */
export const PAGE_PATHS = ['/docs', '/docs/v2', ...GUIDE_PATHS, ...ERROR_PATHS];

/** What links and elements of a page refer to, as they are written. */
export const referencesOf = (html: string): string[] =>
  Array.from(html.matchAll(/<(?!base )[^>]* (?:href|src)="([^"]*)"/g), ([, reference = '']) => reference);

/** Where a reference of a page leads, as browsers resolve it. */
export function resolveFrom(html: string, address: string, reference: string): URL {
  const [, base = ''] = /<base href="([^"]*)">/.exec(html) ?? [];
  return new URL(reference, new URL(base, address));
}
