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

/** Pages of text: our own scripts, styles and pictures, nothing else. */
export const GUIDE_POLICY = policy(STRICT);

/**
 * The reference besides talks to its own origin, to load the document and to try operations; a key that is typed into
 * it can go nowhere else. Two directives are wider, because Scalar's bundle needs it:
 *
 * - `style-src 'unsafe-inline'`: it sets some 200 style attributes, which neither a nonce nor a hash can allow, and
 *   creates style elements. Scripts stay at `'self'`, without eval.
 * - `img-src data:`: small pictures are written into its styles.
 */
export const REFERENCE_POLICY = policy({
  ...STRICT,
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
});
