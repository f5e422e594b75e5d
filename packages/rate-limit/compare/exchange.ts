import { setTimeout as sleep } from 'node:timers/promises';
import { LIMIT, type OpenContender, type Verdict, WINDOW_MS } from './contender.ts';

/** A request and what came of it. The limiter decided after `sentMs` and before `receivedMs`, by the clock that Redis has. */
export interface Exchange {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly verdict: Verdict | { readonly outcome: 'failed' };
}

/** Never returns early, as timers alone may by a millisecond. */
export async function sleepUntil(atMs: number): Promise<void> {
  while (Date.now() < atMs) await sleep(Math.max(1, atMs - Date.now()));
}

export async function exchange(contender: OpenContender, caller: string): Promise<Exchange> {
  const sentMs = Date.now();
  const verdict = await contender.request(caller).catch(() => ({ outcome: 'failed' }) as const);
  // Times are cut to whole milliseconds: the next one is surely after the decision.
  return { sentMs, receivedMs: Date.now() + 1, verdict };
}

/** Sends a request at each of these times, whether those before have ended or not. */
export const exchangeAt = (contender: OpenContender, caller: string, times: readonly number[]): Promise<Exchange[]> =>
  Promise.all(
    times.map(async (atMs) => {
      await sleepUntil(atMs);
      return exchange(contender, caller);
    }),
  );

export const admissionsOf = (exchanges: readonly Exchange[]): readonly Exchange[] =>
  exchanges.filter(({ verdict }) => verdict.outcome === 'admitted');

/**
 * The highest number of requests that were sent and admitted within any window, as a multiple of the limit. Where it is
 * not sure whether a request still lies in the window it is left out: the true number may be higher, never lower.
 */
export function worstWindow(exchanges: readonly Exchange[]): number {
  const admissions = admissionsOf(exchanges);
  const inWindowFrom = (fromMs: number) =>
    admissions.filter(({ sentMs, receivedMs }) => sentMs >= fromMs && receivedMs < fromMs + WINDOW_MS).length;
  return Math.max(0, ...admissions.map(({ sentMs }) => inWindowFrom(sentMs))) / LIMIT;
}

/** When an exact log of all admissions would have admitted another request, at `fromMs` or later. */
export function exactRelease(exchanges: readonly Exchange[], fromMs: number): number {
  const times = admissionsOf(exchanges).map(({ receivedMs }) => receivedMs);
  const newestFirst = times.sort((a, b) => b - a);
  return Math.max(fromMs, (newestFirst[LIMIT - 1] ?? Number.NEGATIVE_INFINITY) + WINDOW_MS);
}
