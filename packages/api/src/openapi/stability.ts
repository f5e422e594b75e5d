import type { Stability } from '../procedure-contract.ts';

/** The terms that documentation tools use for each stability in the procedures' metadata. */
const TERMS: Readonly<Record<Exclude<Stability, 'stable'>, { level: string; scalar: string; badge: object }>> = {
  experimental: { level: 'alpha', scalar: 'experimental', badge: { name: 'Experimental', color: 'purple' } },
  // Scalar has no level between experimental and stable.
  beta: { level: 'beta', scalar: 'experimental', badge: { name: 'Beta', color: 'blue' } },
};

/**
 * The extension fields of an operation; none if it is stable and not deprecated.
 *
 * - `x-stability`: our own field, see the specification
 * - `x-stability-level`, `x-sunset` (a date): read by oasdiff
 * - `x-scalar-stability`: read by Scalar
 * - `x-badges`: read by Redocly and Scalar
 *
 * @param sunsetAt of a deprecated operation
 */
export function stabilityExtensions(stability: Stability, sunsetAt: Date | undefined): Record<string, unknown> {
  const terms = stability === 'stable' ? undefined : TERMS[stability];
  const sunset = sunsetAt?.toISOString().slice(0, 10);
  const scalar = sunset === undefined ? terms?.scalar : 'deprecated';
  const badges = [terms?.badge, sunset && { name: `Sunset ${sunset}`, color: 'orange' }].filter(Boolean);
  return {
    ...(terms && { 'x-stability': stability, 'x-stability-level': terms.level }),
    ...(sunset && { 'x-sunset': sunset }),
    ...(scalar && { 'x-scalar-stability': scalar }),
    ...(badges.length > 0 && { 'x-badges': badges }),
  };
}
