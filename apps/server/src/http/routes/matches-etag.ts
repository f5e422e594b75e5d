/** An entity tag (RFC 9110 section 8.8.3), without the mark of a weak one. */
const OPAQUE_TAG = /"[\x21\x23-\x7e\x80-\xff]*"/g;

const TAG = `(?:W/)?${OPAQUE_TAG.source}`;

/** Tags with commas between any two (RFC 9110 section 13.1.2); elements may be empty (section 5.6.1.2). */
const TAGS = new RegExp(`^(?:[ \\t]*,)*[ \\t]*${TAG}(?:(?:[ \\t]*,)+[ \\t]*${TAG})*(?:[ \\t]*,)*[ \\t]*$`);

/**
 * Whether the client already has the representation, so that the response is 304. Tags are compared weakly (RFC 9110
 * section 8.8.3.2); a header that is malformed is ignored.
 *
 * By hand: `fresh` obeys the `Cache-Control: no-cache` which `fetch` adds to every request that has `If-None-Match`.
 *
 * @param etag the representation's tag, which is strong; `*` stands for any
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === '*') return true;
  if (ifNoneMatch === undefined || !TAGS.test(ifNoneMatch)) return false;
  return ifNoneMatch.match(OPAQUE_TAG)?.includes(etag) ?? false;
}
