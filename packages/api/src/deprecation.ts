import { DEPRECATION_GUIDE_PATH } from './openapi/versions.ts';

/** Since when a procedure is deprecated (RFC 9745), and when it ends (RFC 8594) unless a setting says otherwise. */
export interface Deprecation {
  readonly deprecatedAt: Date;
  readonly sunsetAt: Date;
}

/**
 * The headers of every response of a deprecated procedure, over REST and over tRPC. If the sunset was set to a time before
 * the deprecation, both get the date of the sunset, because RFC 9745 section 4 forbids a sunset before the deprecation.
 *
 * @param path that of the request, or its pattern. Links are relative to it: they also work behind a proxy that puts
 *   something before our paths
 */
export function deprecationHeaders({ deprecatedAt, sunsetAt }: Deprecation, path: string) {
  const since = deprecatedAt < sunsetAt ? deprecatedAt : sunsetAt;
  const guide = `<${'../'.repeat(path.split('/').length - 2)}${DEPRECATION_GUIDE_PATH.slice(1)}>`;
  return {
    deprecation: `@${Math.floor(since.getTime() / 1000)}`,
    sunset: sunsetAt.toUTCString(),
    link: `${guide}; rel="deprecation"; type="text/html", ${guide}; rel="sunset"; type="text/html"`,
  };
}

/** The day of a sunset, as the document's `x-sunset` has it. */
export const sunsetDay = (sunsetAt: Date): string => sunsetAt.toISOString().slice(0, 10);
