import type { Cluster, Redis } from 'ioredis';
import type { KeyBan } from '../port.ts';
import { countNotedBans, takeLift } from './ban-index.ts';

export interface BanWatchOptions {
  /** Its owner closes it. */
  readonly redis: Redis | Cluster;
  /** Called for each ban that an operator has lifted: in one of the processes that watch the same Redis. */
  readonly onLift: (ban: KeyBan) => void;
  /** Between two polls, in milliseconds. @default 5,000 */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5_000;

/** Polls every few seconds how many keys are banned in Redis, and which bans were lifted by the command line. */
export class BanWatch implements Disposable {
  /** As of the last poll that succeeded. */
  bannedKeys = 0;
  readonly #redis: Redis | Cluster;
  readonly #onLift: BanWatchOptions['onLift'];
  readonly #timer: NodeJS.Timeout;
  #isPolling = false;

  constructor({ redis, onLift, intervalMs = INTERVAL_MS }: BanWatchOptions) {
    this.#redis = redis;
    this.#onLift = onLift;
    this.#timer = setInterval(this.#poll, intervalMs).unref();
    redis.on('ready', this.#poll);
    this.#poll();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#redis.off('ready', this.#poll);
  }

  /** One poll at a time: a Redis that hangs is not sent more and more. */
  readonly #poll = (): void => {
    if (this.#isPolling || this.#redis.status !== 'ready') return;
    this.#isPolling = true;
    this.#read()
      .catch(() => {}) // Redis is away, as the limiter reports; the next poll may succeed
      .finally(() => {
        this.#isPolling = false;
      });
  };

  async #read(): Promise<void> {
    this.bannedKeys = await countNotedBans(this.#redis);
    for (;;) {
      const ban = await takeLift(this.#redis);
      if (ban === undefined) return;
      this.#onLift(ban);
    }
  }
}
