/**
 * For every page: scripts, styles, images and requests of this origin, and nothing inline. A key that is entered into
 * the console can be sent nowhere else.
 */
export const POLICY = Object.entries({
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  // For the console, and for tools that run inside a page, as Lighthouse does when it reads robots.txt.
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
})
  .map(([name, sources]) => `${name} ${sources}`)
  .join('; ');
