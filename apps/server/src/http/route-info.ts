/** What all requests to one pattern of path have in common: made once at start. */
export interface RouteInfo {
  /** What metrics and logs call it: never anything that a caller sent. */
  readonly operation: string;
  /** How errors are written: as the documented Error object, or in tRPC's envelope. */
  readonly errorFormat: 'rest' | 'trpc';
  /** Whether a key is required and the request is counted. */
  readonly requiresApiKey: boolean;
  /** The supported methods, as the Allow header lists them; empty where nothing is there. */
  readonly allow: string;
  /** Present where a deprecated operation is served. */
  readonly deprecation?: Deprecation;
}

/** What the responses of a deprecated operation have in common. */
export interface Deprecation {
  readonly operation: string;
  /** By which it is used. */
  readonly methods: ReadonlySet<string>;
  /** Written with every response, errors and responses to other methods included. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Nothing is there, and no key is needed to learn so. */
export const UNMATCHED: RouteInfo = { operation: 'unknown', errorFormat: 'rest', requiresApiKey: false, allow: '' };
/** Nothing is there below the documented API. */
export const UNMATCHED_REST: RouteInfo = { ...UNMATCHED, requiresApiKey: true };
/** Nothing is there below the tRPC procedures. */
export const UNMATCHED_TRPC: RouteInfo = { ...UNMATCHED_REST, errorFormat: 'trpc' };
