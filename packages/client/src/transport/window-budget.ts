import type { WindowStatus } from './rate-limit-field.ts';

/** For clocks that do not run alike. */
const CLOCK_SLACK = 1.001;

/**
 * By how much waits are longer than what the service tells. It may count requests that follow each other together, and
 * frees them up to a sixtieth of the window later than the first of them asks for.
 */
export const WAIT_SLACK = (61 / 60) * CLOCK_SLACK;

/** A request that is over, and that the service counts or may count. */
export interface UsedRequest {
  readonly cost: number;
  readonly sentMs: number;
  /** When it was over: the service counted it no later. */
  readonly endedMs: number;
  /** Whether the service surely counted it. */
  readonly isSure: boolean;
}

/**
 * Whether more fits than the last standing leaves when a part is free. It may be that the standing counted it as free
 * already, or that it was never counted.
 */
type Gain = 'sure' | 'possible' | 'none';

/** Used requests that ended at about the same time, together. */
interface UsedPart {
  readonly isSure: boolean;
  cost: number;
  /** When the first of them was sent. */
  sentMs: number;
  firstEndedMs: number;
  endedMs: number;
  gain: Gain;
}

/** What was known when an answer came. */
export interface Reading {
  /** When its request was sent; the service counted at some time from then to now. */
  readonly sentMs: number;
  readonly nowMs: number;
  /** The cost of all other requests that may have been counted after that. */
  readonly uncertainCost: number;
}

/**
 * How many requests surely fit into one window, from what answers told and what was sent since. As long as nobody else
 * uses the key, no fewer fit at the service: what it may have counted is taken off at once, and is added again only when
 * it has surely been freed.
 */
export class WindowBudget {
  #limit = 0;
  #lengthMs = 0;
  #resetMs = 0;
  /** What fitted when the last standing was read, without what was sent since. */
  #base = 0;
  /** The same, for spreading: it stays as it is until the next standing. */
  #baseAtStanding = 0;
  /** What was freed since, of what this client sent. */
  #freed: Record<Gain, number> = { sure: 0, possible: 0, none: 0 };
  /** From when on at least one more fits. */
  #resetAtMs = 0;
  /** From when on nothing counts that was counted before the standing, whoever sent it. */
  #allFreeAtMs = 0;
  /** From when on nothing counts that was counted before the first standing: what counts is known, if nobody else comes. */
  #unknownFreeAtMs = Number.POSITIVE_INFINITY;
  #used: UsedPart[] = [];

  get limit(): number {
    return this.#limit;
  }

  /** Tells what an answer says of the window. */
  restate({ limit, lengthMs, remaining, resetMs }: WindowStatus, { sentMs, nowMs, uncertainCost }: Reading): void {
    this.#limit = limit;
    this.#lengthMs = lengthMs;
    this.#resetMs = resetMs;
    this.#base = remaining - uncertainCost;
    this.#baseAtStanding = this.#base;
    this.#freed = { sure: 0, possible: 0, none: 0 };
    this.#resetAtMs = nowMs + resetMs * CLOCK_SLACK;
    this.#allFreeAtMs = nowMs + lengthMs * WAIT_SLACK;
    this.#unknownFreeAtMs = Math.min(this.#unknownFreeAtMs, this.#allFreeAtMs);
    for (const part of this.#used) {
      // The base is short of it; or it was counted when the standing was.
      if (part.firstEndedMs > sentMs || (part.isSure && part.sentMs + lengthMs > nowMs)) continue;
      part.gain = part.isSure && part.gain !== 'none' ? 'possible' : 'none';
    }
  }

  /** Takes off what is sent; adds, where it is negative, what was not counted. */
  take(cost: number): void {
    this.#base -= cost;
  }

  /** @param isTold whether the standing tells of the request; else it was taken off */
  recordUse({ cost, sentMs, endedMs, isSure }: UsedRequest, isTold: boolean): void {
    const gain = isTold && !isSure ? 'none' : 'sure';
    const last = this.#used.filter((part) => part.isSure === isSure).at(-1);
    if (last?.gain === gain && endedMs - last.firstEndedMs < this.#lengthMs / 60) {
      last.cost += cost;
      last.sentMs = Math.min(last.sentMs, sentMs);
      last.firstEndedMs = Math.min(last.firstEndedMs, endedMs);
      last.endedMs = Math.max(last.endedMs, endedMs);
    } else {
      this.#used.push({ cost, sentMs, firstEndedMs: endedMs, endedMs, isSure, gain });
    }
  }

  /** How long to wait after a request of this cost, so that what remains lasts until more is freed. */
  durationMs(cost: number): number {
    return (cost * this.#resetMs) / (cost + Math.max(0, this.#baseAtStanding));
  }

  /** @returns when requests of this cost surely fit; infinity where an answer has to come first */
  earliestMs(cost: number, nowMs: number, inFlightCost: number): number {
    this.#used = this.#used.filter((part) => {
      if (this.#freeAtMs(part) > nowMs) return true;
      this.#freed[part.gain] += part.cost;
      return false;
    });
    const fits = (atMs: number) => this.#fittingAt(atMs, inFlightCost) >= cost;
    if (fits(nowMs)) return nowMs;
    const timesMs = [this.#resetAtMs, this.#allFreeAtMs, ...this.#used.map((part) => this.#freeAtMs(part))];
    return Math.min(...timesMs.filter((atMs) => atMs > nowMs && fits(atMs)));
  }

  #freeAtMs({ endedMs }: UsedPart): number {
    return endedMs + this.#lengthMs * WAIT_SLACK;
  }

  #fittingAt(atMs: number, inFlightCost: number): number {
    const freed = { ...this.#freed };
    let used = inFlightCost;
    for (const part of this.#used) {
      if (this.#freeAtMs(part) > atMs) used += part.cost;
      else freed[part.gain] += part.cost;
    }
    const leftByOwnUse = this.#limit - used;
    if (atMs >= this.#allFreeAtMs) return leftByOwnUse;
    const left = this.#base + Math.max(freed.sure, atMs >= this.#resetAtMs ? 1 : 0);
    if (atMs < this.#unknownFreeAtMs) return left;
    return Math.max(left, Math.min(this.#base + freed.sure + freed.possible, leftByOwnUse));
  }
}
