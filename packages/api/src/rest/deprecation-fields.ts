/** The header fields of a deprecation. */
interface DeprecationFields {
  /** RFC 9745: since when the operation is deprecated, as a Unix timestamp in seconds. */
  readonly deprecation: string;
  /** RFC 8594: when the operation ends, as an HTTP-date. */
  readonly sunset: string;
}

/**
 * The headers of every response of a deprecated operation. If the sunset was set to a time before the deprecation, both get
 * the date of the sunset, because RFC 9745 section 4 forbids a sunset before the deprecation.
 */
export function deprecationFields(deprecatedAt: Date, sunsetAt: Date): DeprecationFields {
  const since = deprecatedAt < sunsetAt ? deprecatedAt : sunsetAt;
  return { deprecation: `@${Math.floor(since.getTime() / 1000)}`, sunset: sunsetAt.toUTCString() };
}
