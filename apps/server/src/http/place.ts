/** What all requests to one pattern of path have in common: made once at start. */
export interface Place {
  /** What metrics and logs call it: never anything that a caller sent. */
  readonly operation: string;
  /** How errors are written: as the documented Error object, or in tRPC's envelope. */
  readonly dialect: 'rest' | 'trpc';
  /** Whether a key is asked for and the request is counted. */
  readonly isAdmitted: boolean;
  /** The methods that it supports, as the Allow header lists them; empty where nothing is there. */
  readonly allow: string;
  /** What every answer carries here, errors included. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Nothing is there, and no key is needed to learn so. */
export const NOWHERE: Place = { operation: 'unknown', dialect: 'rest', isAdmitted: false, allow: '' };
/** Nothing is there below the documented API. */
export const UNKNOWN_REST_PLACE: Place = { ...NOWHERE, isAdmitted: true };
/** Nothing is there below the tRPC procedures. */
export const UNKNOWN_TRPC_PLACE: Place = { ...UNKNOWN_REST_PLACE, dialect: 'trpc' };

const FIRST_SEGMENT = /^(?:[A-Za-z]+:\/\/[^/]*)?\/([^/?#]*)/;

/** Where a URL leads that cannot be decoded, judged by its first segment. */
export function placeOfMalformedUrl(url: string): Place {
  switch (decodeLoosely(FIRST_SEGMENT.exec(url)?.[1] ?? '')) {
    case 'v1':
    case 'v2':
      return UNKNOWN_REST_PLACE;
    case 'trpc':
      return UNKNOWN_TRPC_PLACE;
    default:
      return NOWHERE;
  }
}

function decodeLoosely(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
