/** What all requests to one pattern of path have in common: made once at start. */
export interface RouteInfo {
  /** What metrics and logs call it: never anything that a caller sent. */
  readonly operation: string;
  /** How errors are written: as the documented Error object, or in tRPC's envelope. */
  readonly errorFormat: 'rest' | 'trpc';
  /** Whether a key is asked for and the request is counted. */
  readonly requiresApiKey: boolean;
  /** The methods that it supports, as the Allow header lists them; empty where nothing is there. */
  readonly allow: string;
  /** Present where an operation that is to end is served. */
  readonly deprecation?: Deprecation;
}

/** What concerns the answers of an operation that is to end. */
export interface Deprecation {
  readonly operation: string;
  /** By which it is used. */
  readonly methods: ReadonlySet<string>;
  /** What every answer carries, errors and answers to other methods included. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Nothing is there, and no key is needed to learn so. */
export const UNMATCHED: RouteInfo = { operation: 'unknown', errorFormat: 'rest', requiresApiKey: false, allow: '' };
/** Nothing is there below the documented API. */
export const UNMATCHED_REST: RouteInfo = { ...UNMATCHED, requiresApiKey: true };
/** Nothing is there below the tRPC procedures. */
export const UNMATCHED_TRPC: RouteInfo = { ...UNMATCHED_REST, errorFormat: 'trpc' };

const PATH = /^(?:[A-Za-z]+:\/\/[^/]*)?\/([^?#]*)/;

/**
 * Where a URL leads that cannot be decoded: to a path with parameters, or to whatever begins as it does.
 *
 * @param places by path, in Fastify's notation
 */
export function placeOfMalformedUrl(url: string, places: ReadonlyMap<string, RouteInfo>): RouteInfo {
  const segments = (PATH.exec(url)?.[1] ?? '').split('/').map(decodeLoosely);
  for (const [path, place] of places) if (isMatch(path.slice(1).split('/'), segments)) return place;
  switch (segments[0]) {
    case 'v1':
    case 'v2':
      return UNMATCHED_REST;
    case 'trpc':
      return UNMATCHED_TRPC;
    default:
      return UNMATCHED;
  }
}

const isMatch = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length &&
  pattern.every((name, i) => (name.startsWith(':') ? segments[i] !== '' : segments[i] === name));

function decodeLoosely(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
