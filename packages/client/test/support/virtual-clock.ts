import { setImmediate } from 'node:timers/promises';
import type { ClientClock } from '../../src/rest.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Passes of the event loop. What happens at once, through promises and streams, takes no more. */
const PASSES = 4;

/** A clock that stands still while anything happens, and then jumps to the time of the next timers that are due. */
export class VirtualClock implements ClientClock {
  #nowMs = Date.parse('2026-11-20T12:00:00.000Z');
  /** The last is due first; of those due at the same time, the one that was scheduled first. */
  readonly #timers: Timer[] = [];

  now(): number {
    return this.#nowMs;
  }

  schedule(callback: () => void, delayMs: number): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    let index = this.#timers.length;
    while (index > 0 && (this.#timers[index - 1]?.dueMs ?? 0) <= timer.dueMs) index--;
    this.#timers.splice(index, 0, timer);
    return () => {
      const found = this.#timers.indexOf(timer);
      if (found !== -1) this.#timers.splice(found, 1);
    };
  }

  /** Lets time pass until then. */
  async runUntil(untilMs: number): Promise<void> {
    for (;;) {
      for (let pass = 0; pass < PASSES; pass++) await setImmediate();
      const dueMs = this.#timers.at(-1)?.dueMs;
      if (dueMs === undefined || dueMs > untilMs) break;
      this.#nowMs = dueMs;
      for (let next = this.#timers.at(-1); next?.dueMs === dueMs; next = this.#timers.at(-1)) {
        this.#timers.pop();
        next.callback();
        await undefined; // what follows from it at once comes before the next timer
      }
    }
    this.#nowMs = untilMs;
  }
}
