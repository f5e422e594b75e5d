import { advance, decide, newState } from '../../src/algorithm.ts';
import type { RateLimitDecision, RateLimitRefusal } from '../../src/index.ts';
import { refusalsMaxOf } from '../../src/subject.ts';
import { newKey } from './traffic.ts';

const START_MS = 1_700_000_000_000;

export interface Pool {
  readonly perMinute: number;
  readonly perDay?: number;
  readonly workers: number;
  /** When the worker of this index sends its first request, in milliseconds from the beginning. */
  readonly startMs: (index: number, random: () => number) => number;
  /** How long a worker that was admitted takes until its next request. */
  readonly thinkMs: (random: () => number) => number;
  /** How long a worker that was refused waits; by default as long as Retry-After says. */
  readonly waitMs?: (refusal: RateLimitRefusal, worker: Worker) => number;
  /** How long requests take at most, both ways together. */
  readonly latencyMs?: number;
  readonly batchMax?: number;
  readonly seed: number;
}

interface Worker {
  readonly index: number;
  readonly random: () => number;
}

export interface PoolEvent {
  /** Milliseconds from the beginning. */
  readonly atMs: number;
  readonly worker: number;
  readonly decision: RateLimitDecision;
}

/** Workers with one key in virtual time. Yields each decision, without end. */
export function* runPool(pool: Pool): Generator<PoolEvent> {
  const { perMinute, perDay = 1_000_000_000, workers, startMs, thinkMs, latencyMs = 0, batchMax = 1, seed } = pool;
  const { waitMs = ({ retryAfterSeconds }: RateLimitRefusal) => retryAfterSeconds * 1_000 } = pool;
  const subject = newKey(perMinute, perDay);
  const random = pseudoRandom(seed);
  const costMax = Math.min(batchMax, perMinute, perDay);
  const schedule = new Schedule<Worker>();
  for (let index = 0; index < workers; index++) {
    schedule.add(START_MS + Math.floor(startMs(index, random)), { index, random });
  }
  const state = newState();
  for (;;) {
    const { atMs, item: worker } = schedule.takeNext();
    advance(state, atMs);
    const request = { cost: 1 + Math.floor(random() * costMax), refusalsMax: refusalsMaxOf(subject) };
    const decision = decide(state, subject, request, atMs);
    yield { atMs: atMs - START_MS, worker: worker.index, decision };
    const isAdmitted = decision.outcome === 'admitted';
    const pauseMs = isAdmitted ? thinkMs(random) : waitMs(decision, worker);
    schedule.add(atMs + Math.max(1, Math.floor(pauseMs + random() * latencyMs)), worker);
  }
}

/** Items by their time, the earliest first. */
class Schedule<Item> {
  /** The last is due first. */
  readonly #entries: { readonly atMs: number; readonly item: Item }[] = [];

  add(atMs: number, item: Item): void {
    const index = this.#entries.findLastIndex((entry) => entry.atMs > atMs);
    this.#entries.splice(index + 1, 0, { atMs, item });
  }

  takeNext(): { readonly atMs: number; readonly item: Item } {
    const next = this.#entries.pop();
    if (next === undefined) throw new RangeError('nothing is scheduled');
    return next;
  }
}

/** Mulberry32: small, seeded, even. */
function pseudoRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
