/** Every contender admits so many requests of a caller... */
export const LIMIT = 60;
/** ...in a window of this length. */
export const WINDOW_MS = 60_000;

export type Verdict =
  | { readonly outcome: 'admitted' }
  /** `retryAtMs` is when the refusal says to come back, in milliseconds since the epoch, if it says so. */
  | { readonly outcome: 'refused'; readonly retryAtMs: number | undefined };

/** A limiter in a server of its own, as its documentation sets it up. */
export interface OpenContender extends AsyncDisposable {
  /** Rejects where the limiter fails, so that a server would respond with 500. */
  readonly request: (caller: string) => Promise<Verdict>;
}

export interface Contender {
  readonly name: string;
  /** What it does, in a few words for a table. */
  readonly algorithm: string;
  readonly open: (redisUrl: string) => Promise<OpenContender>;
  /** Uses a caller's limits so that Redis keeps as much as it ever does, where a minute of traffic does not. */
  readonly fill?: (redisUrl: string, caller: string) => Promise<void>;
}

export const ADMITTED: Verdict = { outcome: 'admitted' };

/** @param header the value of Retry-After */
export function refusedFor(header: number | string | undefined): Verdict {
  const retryAtMs = header === undefined ? undefined : Date.now() + Number(header) * 1_000;
  return { outcome: 'refused', retryAtMs };
}
