/** What remains in one window. */
export interface WindowStanding {
  /** Requests that fit now. */
  readonly remaining: number;
  /** Seconds until more will fit. */
  readonly resetSeconds: number;
}

/**
 * Reads the `RateLimit` header, such as `"minute";r=59;t=60, "day";r=999;t=86400`
 * (draft-ietf-httpapi-ratelimit-headers). Windows that it does not understand are left out.
 */
export function readRateLimitField(field: string | null): readonly WindowStanding[] {
  return (field ?? '').split(',').flatMap((item) => {
    const remaining = /;\s*r=(\d+)/.exec(item)?.[1];
    const resetSeconds = /;\s*t=(\d+)/.exec(item)?.[1];
    if (remaining === undefined || resetSeconds === undefined) return [];
    return [{ remaining: Number(remaining), resetSeconds: Number(resetSeconds) }];
  });
}
