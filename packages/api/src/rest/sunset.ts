/** When deprecated operations end in this installation, by operationId, if that is not what their contract says. */
export type SunsetOverrides = Readonly<Partial<Record<string, Date>>>;

/** When a deprecated operation ends in this installation. */
export const sunsetOf = (
  operationId: string,
  deprecation: { readonly sunsetAt: Date },
  overrides: SunsetOverrides = {},
): Date => overrides[operationId] ?? deprecation.sunsetAt;

/** The header fields of a deprecation, as they are sent. */
interface DeprecationFields {
  /** RFC 9745: since when, as a Unix timestamp in seconds. */
  readonly deprecation: string;
  /** RFC 8594: until when, as an HTTP-date. */
  readonly sunset: string;
}

/**
 * What every response of a deprecated operation carries. A sunset that was moved to before the deprecation counts as its
 * day too, because it must not lie before it (RFC 9745 section 4).
 */
export function deprecationFields(deprecatedAt: Date, sunsetAt: Date): DeprecationFields {
  const since = deprecatedAt < sunsetAt ? deprecatedAt : sunsetAt;
  return { deprecation: `@${Math.floor(since.getTime() / 1000)}`, sunset: sunsetAt.toUTCString() };
}
