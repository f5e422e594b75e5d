import { setImmediate } from 'node:timers/promises';
import type { ClientClock } from '../../src/rest.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Of the event loop: what happens at once, by way of promises and streams, takes no more. */
const TURNS = 4;

/** A clock that stands still while anything happens, and then jumps to the next thing that is due. */
export class VirtualClock implements ClientClock {
  #nowMs = Date.parse('2026-11-20T12:00:00.000Z');
  /** The last is due first; of those due at once, the one that was there first. */
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
      for (let turn = 0; turn < TURNS; turn++) await setImmediate();
      const next = this.#timers.at(-1);
      if (next === undefined || next.dueMs > untilMs) break;
      this.#timers.pop();
      this.#nowMs = next.dueMs;
      next.callback();
    }
    this.#nowMs = untilMs;
  }
}
