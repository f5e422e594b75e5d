import { CircuitBreaker } from './circuit-breaker.ts';
import type { RateLimitDecision, RateLimitSnapshot, RateLimitUse } from './rate-limiter.ts';
import type { RedisLimiter } from './redis-limiter.ts';
import type { RedisUnavailableError } from './redis-unavailable-error.ts';
import { StandIn, type StandInOptions } from './stand-in.ts';
import { clientAddressSubject, type RateLimitSubject } from './subject.ts';

/** Redis went away, or came back. */
export interface LimiterStateChange {
  /** Where requests are counted from now on. */
  readonly countedIn: 'redis' | 'process';
  /** Which Redis: a node's `host:port` in a cluster, else `redis`. */
  readonly shard: string;
  /** What Redis or the connection said, for a log. */
  readonly reason: string;
}

export interface ShardOptions extends StandInOptions {
  readonly limiter: RedisLimiter;
  /** Told of each decision that Redis gives. */
  readonly learn: (subject: RateLimitSubject, decision: RateLimitDecision) => void;
  /** Called when it goes away for longer than a start takes, and when it comes back from there. */
  readonly onStateChange: (change: LimiterStateChange) => void;
  /** Called whenever requests are counted in Redis again. */
  readonly onReturn: () => void;
  /** Called when a probe has failed, for as many times in a row. */
  readonly onProbeFailed: (timesInARow: number) => void;
}

/** Asked about until somebody was refused an answer. */
const NOBODY = clientAddressSubject('probe');
/** Debts that are paid at once; requests go between. */
const DEBTS_AT_ONCE = 100;

/** One Redis that may fail by itself (a master of a cluster, or the only one), with a breaker and a stand-in. */
export class Shard {
  /** The node's `host:port` in a cluster, else `redis`. */
  readonly name: string;
  readonly #options: ShardOptions;
  readonly #breaker = new CircuitBreaker();
  readonly #standIn: StandIn;
  /** Whom the next probe is about: somebody whom this shard counts. */
  #probeSubject: RateLimitSubject = NOBODY;
  #isProbing = false;
  #failedProbes = 0;
  #isAwayTold = false;

  constructor(name: string, options: ShardOptions) {
    this.name = name;
    this.#options = options;
    this.#standIn = new StandIn(options);
  }

  /** Whether requests are counted in the process. */
  get isAway(): boolean {
    return this.#breaker.isOpen;
  }

  /** Counts in the process until a probe succeeds. */
  awaitConnection(): void {
    this.#breaker.open();
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision | Promise<RateLimitDecision> {
    if (this.#breaker.isOpen) return this.#standIn.check(subject, cost);
    if (this.#standIn.hasDebts) this.#pay(subject, () => {});
    return new Promise((resolve) => {
      this.#options.limiter.send(
        subject,
        cost,
        (decision) => {
          this.#options.learn(subject, decision);
          resolve(decision);
        },
        () => {
          const decision = this.#standIn.check(subject, cost);
          resolve(decision);
          return decision.outcome === 'admitted';
        },
      );
    });
  }

  async peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    if (this.#breaker.isOpen) return this.#standIn.peek(subject);
    try {
      return await this.#options.limiter.peek(subject);
    } catch {
      return this.#standIn.peek(subject); // `observe` was told why
    }
  }

  debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void> {
    this.#standIn.owe(subject, use);
    if (this.#breaker.isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#pay(subject, resolve));
  }

  /** Books how a call ended. */
  observe(subject: RateLimitSubject, error: RedisUnavailableError | undefined): void {
    if (error === undefined) {
      this.#breaker.recordSuccess(performance.now());
      return;
    }
    this.#probeSubject = subject;
    const wasOpen = this.#breaker.isOpen;
    this.#breaker.recordFailure(performance.now());
    if (!wasOpen && this.#breaker.isOpen) this.tellAway(error.message);
  }

  /** Owes again what a debit was thought to have paid. */
  owe(subject: RateLimitSubject, use: RateLimitUse): void {
    this.#standIn.owe(subject, use);
  }

  /** Owes less, because Redis knows already. */
  forgive(subject: RateLimitSubject, cost: number): void {
    this.#standIn.forgive(subject, cost);
  }

  /** Says so once, until it is back. */
  tellAway(reason: string): void {
    if (this.#isAwayTold) return;
    this.#isAwayTold = true;
    this.#options.onStateChange({ countedIn: 'process', shard: this.name, reason });
  }

  /** Tries whether Redis is back: a write, which is refused where a check would be. */
  probe(): void {
    if (this.#isProbing) return;
    this.#isProbing = true;
    this.#options.limiter.sendDebit(
      this.#probeSubject,
      { minute: 0, day: 0 },
      () => {
        this.#isProbing = false;
        if (this.#breaker.isOpen) this.#comeBack();
      },
      () => {
        this.#isProbing = false;
        this.#failedProbes += 1;
        this.#options.onProbeFailed(this.#failedProbes);
        return false;
      },
    );
  }

  #comeBack(): void {
    this.#breaker.close();
    this.#failedProbes = 0;
    this.#options.onReturn();
    if (this.#isAwayTold) {
      this.#isAwayTold = false;
      this.#options.onStateChange({ countedIn: 'redis', shard: this.name, reason: 'Redis answers' });
    }
    void this.#payAll(); // never rejects
  }

  async #payAll(): Promise<void> {
    const debtors = [...this.#standIn.debtors()];
    for (let i = 0; i < debtors.length && !this.#breaker.isOpen; i += DEBTS_AT_ONCE) {
      const some = debtors.slice(i, i + DEBTS_AT_ONCE);
      await Promise.all(some.map((subject) => new Promise<void>((resolve) => this.#pay(subject, resolve))));
    }
  }

  #pay(subject: RateLimitSubject, done: () => void): void {
    const use = this.#standIn.settle(subject);
    if (use === undefined) {
      done();
      return;
    }
    this.#options.limiter.sendDebit(subject, use, done, (error) => {
      // What may have run is not sent again, unless it turns out that it has not.
      if (!error.mayHaveRun) this.#standIn.owe(subject, use);
      done();
      return false;
    });
  }
}
