/** The headers of one answer, by lower-case name: one flat object that is written once. */
export interface ResponseHeaders {
  [name: string]: string | number | undefined;
  ratelimit?: string;
}

/**
 * The headers that every answer begins with. What we answer is nobody's page: it is neither stored, nor guessed at, nor
 * shown in a frame, nor may it load anything.
 */
export const startHeaders = (requestId: string): ResponseHeaders => ({
  'x-request-id': requestId,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
});
