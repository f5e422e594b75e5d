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
 * For the reference, whose console also sends requests, to its own origin: a key that is entered can be sent nowhere
 * else.
 */
export const REFERENCE_POLICY = policy({ ...STRICT, 'connect-src': "'self'" });
