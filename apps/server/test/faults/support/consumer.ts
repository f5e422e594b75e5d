import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient } from '@petstore/client';
import { KEYS } from '../../support/database.ts';
import type { SeededRandom } from './seeded-random.ts';
import { type RecordedEvent, storedOrderOf } from './stored-order.ts';
import type { TestedService } from './tested-service.ts';

/** For how long a consumer runs before it is killed, in milliseconds. */
const LIFE_MS = [200, 4_000] as const;

/** How often one that was given an event is busy for a while. */
const BUSY = 0.002;

/** How soon all have to receive the last event when all faults have ended, in milliseconds. */
const CATCH_UP_MS = 30_000;

/** Follows all events from the beginning, is killed again and again, and goes on where it was, at any server. */
export class Consumer {
  readonly #service: TestedService;
  readonly #random: SeededRandom;
  readonly #caughtUp = new AbortController();
  readonly #following: Promise<void>;
  #lastId: bigint | undefined;
  /** What it was given, over all its lives. */
  readonly events: RecordedEvent[] = [];
  /** Errors that no fault explains. */
  readonly wrong: string[] = [];
  lives = 0;

  constructor(service: TestedService, random: SeededRandom) {
    this.#service = service;
    this.#random = random;
    this.#following = this.#follow();
  }

  /**
   * Lets it go on until it has received an event.
   *
   * @throws Error where that takes long
   */
  async finish(lastId: bigint): Promise<void> {
    this.#lastId = lastId;
    if (this.#isAt(lastId)) this.#caughtUp.abort();
    const tooLate = sleep(CATCH_UP_MS, 'too late', { ref: false });
    const first = await Promise.race([this.#following, tooLate]);
    this.#caughtUp.abort();
    await this.#following;
    if (first === 'too late') this.wrong.push(`it did not receive event ${lastId} within ${CATCH_UP_MS} ms`);
  }

  #isAt(id: bigint | undefined): boolean {
    return id !== undefined && (this.events.at(-1)?.id ?? 0n) >= id;
  }

  async #follow(): Promise<void> {
    const { signal: caughtUp } = this.#caughtUp;
    while (!caughtUp.aborted) {
      this.lives++;
      const death = AbortSignal.timeout(Math.round(this.#random.between(...LIFE_MS)));
      await this.#live(AbortSignal.any([death, caughtUp]));
    }
  }

  async #live(signal: AbortSignal): Promise<void> {
    const { url: baseUrl } = this.#random.pick(this.#service.servers);
    const client = createPetstoreClient({ baseUrl, apiKey: KEYS.internal.text });
    const after = String(this.events.at(-1)?.id ?? 0);
    try {
      for await (const { id, type, order } of client.events({ after, signal })) {
        this.events.push({ id: BigInt(id), type, order: storedOrderOf(order) });
        if (this.#isAt(this.#lastId)) this.#caughtUp.abort();
        if (this.#random.next() < BUSY) await sleep(this.#random.between(0, 300));
      }
    } catch (error) {
      if (signal.aborted) return;
      this.wrong.push(`behind event ${after}: ${error}`);
      await sleep(200);
    }
  }
}
