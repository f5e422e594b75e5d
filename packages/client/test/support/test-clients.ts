import { setImmediate } from 'node:timers/promises';
import { createConnection, type Dependencies } from '../../src/connection.ts';
import type { PetstoreClient, PetstoreClientOptions, PetstoreRestClient } from '../../src/index.ts';
import { restClientOn } from '../../src/rest/rest-client.ts';
import type { Clock } from '../../src/transport/clock.ts';
import { clientOn } from '../../src/trpc/trpc-client.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Passes of the event loop. What happens at once, through promises and streams, takes no more. */
const PASSES = 4;

/**
 * A clock that stands still while requests are in flight, however long they take, and jumps to the end of the next wait: a
 * busy machine changes nothing. While it is held, time passes by {@link runUntil} alone.
 */
export class TestClock implements Clock {
  /** For clients whose attempts are to time out by {@link timeOut} alone: it distinguishes their timers from waits. */
  readonly timeoutMs = 54_321;
  /** How long the client wanted to wait, in milliseconds, each time. */
  readonly waits: number[] = [];
  #nowMs = Date.parse('2026-11-20T12:00:00.000Z');
  #isHeld = false;
  /** The last is due first; of those due at the same time, the one that was scheduled first. */
  readonly #timers: Timer[] = [];
  readonly #attempts = new Set<() => void>();
  readonly #waitTimeoutMs: number | undefined;

  /** @param waitTimeoutMs the timeout of calls that wait, which is that of attempts, too */
  constructor({ waitTimeoutMs }: { readonly waitTimeoutMs?: number } = {}) {
    this.#waitTimeoutMs = waitTimeoutMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(callback: () => void, delayMs: number): () => void {
    if (delayMs === this.timeoutMs || delayMs === this.#waitTimeoutMs) {
      const attempt = () => callback();
      this.#attempts.add(attempt);
      return () => this.#attempts.delete(attempt);
    }
    this.waits.push(delayMs);
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    let index = this.#timers.length;
    while (index > 0 && (this.#timers[index - 1]?.dueMs ?? 0) <= timer.dueMs) index--;
    this.#timers.splice(index, 0, timer);
    if (!this.#isHeld) setTimeout(() => this.#jump(), 1);
    return () => {
      const found = this.#timers.indexOf(timer);
      if (found !== -1) this.#timers.splice(found, 1);
    };
  }

  /** Waits and attempts that are neither over nor cancelled. */
  get scheduledCount(): number {
    return this.#timers.length + this.#attempts.size;
  }

  /** Waits that are neither over nor cancelled, without attempts. */
  get waitCount(): number {
    return this.#timers.length;
  }

  /** Lets no wait end until {@link release}. */
  hold(): this {
    this.#isHeld = true;
    return this;
  }

  release(): void {
    this.#isHeld = false;
    for (const _ of this.#timers) setTimeout(() => this.#jump(), 1);
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

  #jump(): void {
    if (this.#isHeld) return;
    const next = this.#timers.pop();
    if (next === undefined) return;
    this.#nowMs = Math.max(this.#nowMs, next.dueMs);
    next.callback();
  }
}

/** The options of callers, and the dependencies that only tests choose. */
export type TestClientOptions = PetstoreClientOptions & Partial<Dependencies> & { readonly clock: TestClock };

/** Attempts time out by {@link TestClock.timeOut}, unless the options have a time of their own. */
const connect = (options: TestClientOptions) =>
  createConnection({ timeoutMs: options.clock.timeoutMs, ...options }, options);

/** The REST client by a clock of the test's own. */
export const createTestRestClient = (options: TestClientOptions): PetstoreRestClient => restClientOn(connect(options));

/** The tRPC client by a clock of the test's own. */
export const createTestClient = (options: TestClientOptions): PetstoreClient => clientOn(connect(options));
