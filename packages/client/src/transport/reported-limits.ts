/** One window of the limits, as the headers of a response tell it. */
export interface ReportedWindow {
  /** Requests in any span of the length of the window. */
  readonly limit: number;
  /** How many more requests fit into it now. */
  readonly remaining: number;
  /** When the next request is released, in whole seconds from the response on; after a 429, when to come back. */
  readonly resetSeconds: number;
}

/** The limits of the key, or of the client's address where the key is not valid. */
export interface ReportedLimits {
  readonly minute: ReportedWindow;
  /** Addresses have none. */
  readonly day?: ReportedWindow;
}

const QUOTAS = /"(\w+)";q=(\d+)/g;
const REST = /"(\w+)";r=(\d+);t=(\d+)/g;

/** Reads `RateLimit-Policy` and `RateLimit`; `undefined` if a response lacks them, such as one of a proxy. */
export function readLimits(headers: Headers): ReportedLimits | undefined {
  const quotas = new Map<string | undefined, string | undefined>();
  for (const [, name, quota] of headers.get('ratelimit-policy')?.matchAll(QUOTAS) ?? []) quotas.set(name, quota);
  const windows: { [name: string]: ReportedWindow } = {};
  for (const [, name = '', remaining, reset] of headers.get('ratelimit')?.matchAll(REST) ?? []) {
    const limit = quotas.get(name);
    if (limit === undefined) return undefined;
    windows[name] = { limit: Number(limit), remaining: Number(remaining), resetSeconds: Number(reset) };
  }
  const { minute, day } = windows;
  return minute && { minute, ...(day && { day }) };
}
