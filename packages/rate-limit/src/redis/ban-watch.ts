import type { Cluster, Redis } from 'ioredis';
import type { KeyBan } from '../port.ts';
import { countNotedBans, takeLift } from './ban-index.ts';

export interface BanWatchOptions {
  /** Its owner closes it. */
  readonly redis: Redis | Cluster;
  /** Called for each ban that an operator has lifted: in one of the processes that watch the same Redis. */
  readonly onLift: (ban: KeyBan) => void;
  /** Between two looks, in milliseconds. @default 5,000 */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5_000;

/** Looks every few seconds at how many keys are banned in Redis, and which bans were lifted by the command line. */
export class BanWatch implements Disposable {
  /** When last looked: while Redis is away, before it went. */
  bannedKeys = 0;
  readonly #redis: Redis | Cluster;
  readonly #onLift: BanWatchOptions['onLift'];
  readonly #timer: NodeJS.Timeout;
  #isLooking = false;

  constructor({ redis, onLift, intervalMs = INTERVAL_MS }: BanWatchOptions) {
    this.#redis = redis;
    this.#onLift = onLift;
    this.#timer = setInterval(this.#look, intervalMs).unref();
    redis.on('ready', this.#look);
    this.#look();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#redis.off('ready', this.#look);
  }

  /** One look at a time: a Redis that hangs is not sent more and more. */
  readonly #look = (): void => {
    if (this.#isLooking || this.#redis.status !== 'ready') return;
    this.#isLooking = true;
    this.#read()
      .catch(() => {}) // Redis is away, as the limiter reports; the next look may succeed
      .finally(() => {
        this.#isLooking = false;
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
