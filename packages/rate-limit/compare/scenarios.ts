import { LIMIT, type OpenContender, WINDOW_MS } from './contender.ts';
import { admissionsOf, type Exchange, exactRelease, exchange, exchangeAt, sleepUntil } from './exchange.ts';

/** Times from `fromMs` on, evenly, before `toMs`. */
const evenly = (fromMs: number, toMs: number, perSecond: number): number[] =>
  Array.from({ length: Math.floor(((toMs - fromMs) * perSecond) / 1_000) }, (_, i) => fromMs + (i * 1_000) / perSecond);

/** A caller who begins amid a minute of the clock and sends three times the limit, evenly. */
export const sendSteadily = (contender: OpenContender, startMs: number): Promise<Exchange[]> =>
  exchangeAt(contender, 'steady00', evenly(startMs + 20_000, startMs + 118_000, 3));

/**
 * A request, then the rest of the limit at the end of the window, as much just after it, and two requests a second for
 * the next window. The windows of all begin with the first request: it is sent as a minute of the clock begins.
 */
export const burstAtBoundary = (contender: OpenContender, startMs: number): Promise<Exchange[]> =>
  exchangeAt(contender, BOUNDARY_CALLER, [
    startMs + 5,
    ...Array<number>(LIMIT).fill(startMs + WINDOW_MS - 1_000),
    ...Array<number>(LIMIT).fill(startMs + WINDOW_MS + 500),
    ...evenly(startMs + WINDOW_MS + 1_000, startMs + 2 * WINDOW_MS - 1_500, 2),
  ]);

export const BOUNDARY_CALLER = 'boundary';

/** As the former until the window ends, and then 57 requests a minute: fewer than the limit. */
export const trickleAfterBurst = (contender: OpenContender, startMs: number): Promise<Exchange[]> =>
  exchangeAt(contender, 'trickle0', [
    startMs + 5,
    ...Array<number>(LIMIT - 1).fill(startMs + WINDOW_MS - 1_500),
    ...evenly(startMs + WINDOW_MS + 500, startMs + 2 * WINDOW_MS - 2_000, 0.95),
  ]);

/** Ten requests a second for 20 s. Half way Redis is killed, and starts again without its data. */
export const sendAcrossRestart = (contender: OpenContender, restartMs: number): Promise<Exchange[]> =>
  exchangeAt(contender, 'restart0', evenly(restartMs - 10_000, restartMs + 10_000, 10));

/** What refusals announced, and whether it was true. */
export interface Announcements {
  readonly refusals: number;
  /** Refusals that said when to come back. */
  readonly announced: number;
  /** Of these, how many of the requests at that time, the only ones since, were admitted. */
  readonly kept: number;
  /** For each that was, by how much an exact log would have admitted it earlier. */
  readonly heldBackMs: readonly number[];
}

const CALLERS = 16;
const REQUESTS_MAX = 240;
/** What a request takes on its way, so that none comes within the millisecond that was announced. */
const WAY_MS = 10;

/** Numbers from 0 to 1, the same in each run. */
function* randomNumbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** When a caller sends until it is refused. Half of them are new, half have sent 45 requests in the minute before. */
function untilRefused(index: number, startMs: number): number[] {
  const numbers = randomNumbers(index + 1);
  const random = () => numbers.next().value;
  random();
  const isNew = index % 2 === 0;
  const before = isNew ? [] : Array.from({ length: 45 }, () => startMs + random() * 50_000).sort((a, b) => a - b);
  const firstMs = startMs + (isNew ? random() * 40_000 : 61_000 + random() * 4_000);
  const gapMs = isNew ? 20 + random() * 300 : 50;
  return [...before, ...Array.from({ length: REQUESTS_MAX }, (_, i) => firstMs + i * gapMs)];
}

/** Callers who send until they are refused, wait for as long as announced, and send one request more. */
export async function obeyAnnouncements(contender: OpenContender, startMs: number): Promise<Announcements> {
  const results = await Promise.all(
    Array.from({ length: CALLERS }, (_, index) => obey(contender, `obeys${index}`, untilRefused(index, startMs))),
  );
  const refused = results.filter((result) => result !== undefined);
  const heldBackMs = refused.flatMap((result) => result.heldBackMs ?? []);
  const announced = refused.filter((result) => result.hasAnnounced).length;
  return { refusals: refused.length, announced, kept: heldBackMs.length, heldBackMs };
}

async function obey(contender: OpenContender, caller: string, times: readonly number[]) {
  const exchanges: Exchange[] = [];
  for (const atMs of times) {
    await sleepUntil(atMs);
    const last = await exchange(contender, caller);
    exchanges.push(last);
    if (last.verdict.outcome !== 'refused') continue;
    const { retryAtMs } = last.verdict;
    if (retryAtMs === undefined) return { hasAnnounced: false };
    await sleepUntil(retryAtMs + WAY_MS);
    const isKept = admissionsOf([await exchange(contender, caller)]).length === 1;
    if (!isKept) return { hasAnnounced: true };
    return { hasAnnounced: true, heldBackMs: Math.max(0, retryAtMs - exactRelease(exchanges, last.receivedMs)) };
  }
  return undefined;
}
