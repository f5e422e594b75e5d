/** Where a key stands in one of its windows, as an answer tells it. */
export interface WindowStatus {
  readonly name: string;
  /** Requests in any span of the window's length. */
  readonly limit: number;
  readonly lengthMs: number;
  /** Requests that fit now. */
  readonly remaining: number;
  /** Until more will fit; rounded up to whole seconds. */
  readonly resetMs: number;
}

/**
 * Reads the headers `RateLimit`, such as `"minute";r=59;t=60, "day";r=999;t=86400`, and `RateLimit-Policy`, such as
 * `"minute";q=60;w=60, "day";q=1000;w=86400` (draft-ietf-httpapi-ratelimit-headers). Windows that are not in both, or that
 * it does not understand, are left out.
 */
export function readRateLimitFields(headers: Headers | undefined): readonly WindowStatus[] {
  const windows: WindowStatus[] = [];
  const policies = readItems(headers?.get('ratelimit-policy'), 'q', 'w');
  for (const [name, [remaining, resetSeconds]] of readItems(headers?.get('ratelimit'), 'r', 't')) {
    const policy = policies.get(name);
    if (policy === undefined) continue;
    const [limit, lengthSeconds] = policy;
    windows.push({ name, limit, lengthMs: lengthSeconds * 1_000, remaining, resetMs: resetSeconds * 1_000 });
  }
  return windows;
}

/** The items of a list, by their names: two parameters of each. */
function readItems(field: string | null | undefined, first: string, second: string) {
  const items = new Map<string, readonly [number, number]>();
  for (const item of (field ?? '').split(',')) {
    const read = (parameter: string) => Number(new RegExp(`;\\s*${parameter}=(\\d+)`).exec(item)?.[1]);
    const values = [read(first), read(second)] as const;
    if (!values.some(Number.isNaN)) items.set(item.replace(/;.*/, '').trim(), values);
  }
  return items;
}
