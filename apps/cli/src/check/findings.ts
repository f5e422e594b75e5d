/** What became of one promise. */
export interface Finding {
  /** The promise. */
  readonly check: string;
  /** `null` if it could not be seen whether it is kept. */
  readonly ok: boolean | null;
  readonly seen: string;
}

/** A promise of an installation. */
export interface Promised {
  readonly check: string;
  /** @returns what was seen. @throws NotKeptError, NotSeenError */
  readonly look: () => Promise<string>;
}

/** A promise is broken. The message says what was seen, and what usually causes it. */
export class NotKeptError extends Error {
  override readonly name = 'NotKeptError';
}

/** Nothing shows whether a promise is kept. The message says why. */
export class NotSeenError extends Error {
  override readonly name = 'NotSeenError';
}

/** What usually breaks a promise. */
const CAUSES = {
  answers:
    'a proxy answers by itself (nginx: proxy_intercept_errors, limit_except, client_max_body_size; HAProxy: http-error, ' +
    'http-request deny), or a firewall or a login page does',
  authorization:
    'a proxy removes Authorization (nginx: proxy_set_header Authorization ""), or uses it for its own login',
  buffers: 'a proxy buffers (nginx: proxy_buffering with proxy_ignore_headers X-Accel-Buffering) or compresses events',
  cache:
    'a proxy or CDN keeps answers for everybody (nginx: proxy_cache with proxy_ignore_headers; HAProxy: cache-store)',
  cors: 'a proxy adds headers for browsers; leave that to CORS_ORIGINS of the servers',
  forwarded: 'the proxy passes X-Forwarded-For on as it came, or TRUST_PROXY names more than the proxies',
  headers: 'a proxy removes headers of answers (nginx: proxy_hide_header; HAProxy: http-response del-header)',
  json: 'a proxy parses JSON and writes it again, with integers above 2^53 rounded',
  key: 'the key was revoked, has expired or belongs to another installation',
  paths: 'a proxy rewrites paths (nginx: a path after proxy_pass, rewrite; HAProxy: set-path, normalize-uri)',
  service: 'the service is not well: /readyz of its servers says why',
  validators: 'a proxy removes If-None-Match or ETag',
} as const;

export type Cause = keyof typeof CAUSES;

export const breaks = (seen: string, cause: Cause): NotKeptError =>
  new NotKeptError(`${seen}. The usual cause: ${CAUSES[cause]}`);

/** Looks at one promise. */
export async function examine({ check, look }: Promised): Promise<Finding> {
  try {
    return { check, ok: true, seen: await look() };
  } catch (error) {
    if (error instanceof NotSeenError) return { check, ok: null, seen: error.message };
    if (error instanceof NotKeptError) return { check, ok: false, seen: error.message };
    throw error;
  }
}
