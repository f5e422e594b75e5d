import type { ClientClock } from '../../src/rest.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still while requests are in flight, however long they take, and jumps to the end of the next wait: a
 * busy machine changes nothing. Attempts time out by {@link timeOut} alone.
 */
export class JumpingClock implements ClientClock {
  /** To be passed to the client: it distinguishes the timer of an attempt from waits. */
  readonly timeoutMs = 4_321;
  #nowMs = Date.parse('2026-11-20T12:00:00.000Z');
  #isHeld = false;
  readonly #waits = new Set<Timer>();
  readonly #attempts = new Set<() => void>();

  now(): number {
    return this.#nowMs;
  }

  schedule(callback: () => void, delayMs: number): () => void {
    if (delayMs === this.timeoutMs) {
      const attempt = () => callback();
      this.#attempts.add(attempt);
      return () => this.#attempts.delete(attempt);
    }
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#waits.add(timer);
    setTimeout(() => this.#jump(), 1);
    return () => this.#waits.delete(timer);
  }

  /** Waits and attempts that are neither over nor cancelled. */
  get scheduledCount(): number {
    return this.#waits.size + this.#attempts.size;
  }

  /** Waits, without attempts. */
  get waitCount(): number {
    return this.#waits.size;
  }

  /** Lets no wait end until {@link release}. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    for (const _ of this.#waits) setTimeout(() => this.#jump(), 1);
  }

  advance(milliseconds: number): void {
    this.#nowMs += milliseconds;
  }

  /** Ends the attempts that are in flight, as when their time is over. */
  timeOut(): void {
    for (const attempt of this.#attempts) {
      this.#attempts.delete(attempt);
      attempt();
    }
  }

  #jump(): void {
    const [first, ...others] = this.#waits;
    if (first === undefined || this.#isHeld) return;
    const next = others.reduce((soonest, timer) => (timer.dueMs < soonest.dueMs ? timer : soonest), first);
    this.#waits.delete(next);
    this.#nowMs = Math.max(this.#nowMs, next.dueMs);
    next.callback();
  }
}
