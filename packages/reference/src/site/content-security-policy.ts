const policy = (directives: Readonly<Record<string, string>>): string =>
  Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');

const STRICT = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** For guides: scripts, styles and images of this origin, nothing else. */
export const GUIDE_POLICY = policy(STRICT);

/**
 * For the reference, which also sends requests to its own origin, to load the document and to try operations. A key that
 * is entered can be sent nowhere else. Scalar's bundle needs two wider directives:
 *
 * - `style-src 'unsafe-inline'`: it sets some 200 style attributes, which neither a nonce nor a hash can allow, and
 *   creates style elements. Scripts stay at `'self'`, without eval.
 * - `img-src data:`: its styles contain small images.
 */
export const REFERENCE_POLICY = policy({
  ...STRICT,
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
});
