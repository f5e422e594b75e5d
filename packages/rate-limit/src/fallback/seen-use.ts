import { STEP_BACK_MAX_MS } from '../algorithm/subject-state.ts';
import { DAY_WINDOW, MINUTE_WINDOW, type WindowSpec } from '../algorithm/window-log.ts';
import type { RateLimitStatus, RateLimitUse, WindowStatus } from '../port.ts';

/** How long the day holds what the minute holds: a hit in the minute is at most a minute and a quantum old. */
const MINUTE_IN_DAY_MS = DAY_WINDOW.lengthMs - MINUTE_WINDOW.lengthMs - MINUTE_WINDOW.quantumMs;

/** Use of one window that must be in it until `resetAtMs`, because nothing leaves before. */
class SeenWindow {
  used = 0;
  resetAtMs = 0;

  /** @returns whether less is shown than was seen before */
  observe({ limit, remaining, resetAtMs }: WindowStatus, atMs: number, admittedCost: number): boolean {
    const shown = limit - remaining;
    if (atMs >= this.resetAtMs || shown - admittedCost >= this.used) {
      this.used = shown;
      this.resetAtMs = resetAtMs;
      return false;
    }
    // A limit that was lowered and is used up shows no more than itself.
    if (remaining === 0 && admittedCost === 0) return false;
    this.used += admittedCost;
    return true;
  }

  add({ lengthMs }: WindowSpec, units: number, atMs: number): void {
    if (atMs >= this.resetAtMs) {
      this.used = 0;
      this.resetAtMs = atMs + lengthMs;
    }
    this.used += units;
  }

  usedAt(atMs: number): number {
    return atMs < this.resetAtMs ? this.used : 0;
  }
}

/**
 * What a subject has certainly used, by the replies of Redis on it: so a reply that shows less proves that Redis has
 * forgotten some. The replies are observed in the order in which Redis decided, which is that of a connection.
 */
export class SeenUse {
  readonly #minute = new SeenWindow();
  readonly #day = new SeenWindow();
  /** The latest time of a reply. */
  #atMs = 0;

  /**
   * @param admittedCost what this request itself has added
   * @returns whether Redis has forgotten some of the use
   */
  observe({ atMs, minute, day }: RateLimitStatus, admittedCost: number): boolean {
    if (this.#atMs - atMs > STEP_BACK_MAX_MS) this.#forget();
    // Past its reset it is not known what has left the day: but not what was in the minute.
    const dayHoldsUntilMs = this.#atMs + MINUTE_IN_DAY_MS;
    if (atMs >= this.#day.resetAtMs && atMs < dayHoldsUntilMs) {
      this.#day.used = this.#minute.used;
      this.#day.resetAtMs = dayHoldsUntilMs;
    }
    if (atMs > this.#atMs) this.#atMs = atMs;
    const isMinuteLess = this.#minute.observe(minute, atMs, admittedCost);
    const isDayLess = day !== undefined && this.#day.observe(day, atMs, admittedCost);
    return isMinuteLess || isDayLess;
  }

  /** Adds what was debited. */
  add(use: RateLimitUse, atMs: number): void {
    this.#minute.add(MINUTE_WINDOW, use.minute, atMs);
    this.#day.add(DAY_WINDOW, use.day, atMs);
  }

  /** At least so much is in the windows at the time of the last reply. */
  get use(): RateLimitUse {
    const minute = this.#minute.usedAt(this.#atMs);
    return { minute, day: Math.max(minute, this.#day.usedAt(this.#atMs)) };
  }

  /** After a long step of the clock, which drops the minute and moves the day. */
  #forget(): void {
    this.#atMs = 0;
    this.#minute.resetAtMs = 0;
    this.#day.resetAtMs = 0;
  }
}
