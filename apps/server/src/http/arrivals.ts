import type { Authentication, Authenticator, KeyLookUp } from '@petstore/api';
import { ADDRESS_REQUESTS_UNDER_WAY_MAX, type ApiKey, KEY_REQUESTS_UNDER_WAY_MAX } from '@petstore/domain';
import type { BannedDecision, ExceededDecision } from '@petstore/rate-limit';
import type { Exchange } from './exchange.ts';
import { type LimitAnswers, whenKnown } from './limit-answers.ts';
import type { LoadShedder } from './load-shedder.ts';
import { LookUpAllowance } from './look-up-allowance.ts';
import { UnderWay } from './under-way.ts';

/** Who is there, or that it was not looked up: its address is over its limit, and nobody here knows the key. */
export type Arrival =
  | Authentication
  | { readonly type: 'not-looked-up'; readonly refusal: ExceededDecision | BannedDecision };

export interface ArrivalsOptions {
  readonly authenticator: Authenticator;
  readonly limits: LimitAnswers;
  readonly load: LoadShedder;
  readonly isStorageAvailable: () => boolean;
}

/** Before the door: finds out who is there, at no more cost than their address may cause. */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  /** Requests, by key or address. */
  readonly #underWay = new UnderWay();
  readonly #lookUps = new LookUpAllowance(() => performance.now());

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /**
   * Goes on once it is known who is there, and that they may have more under way; otherwise answers.
   *
   * @param calls how many calls the request holds, all of which are under way at once
   */
  identify(exchange: Exchange, calls: number, next: (arrival: Arrival) => void): void {
    const { authenticator, load } = this.#options;
    const identity = authenticator.identify(exchange.request.headers.authorization);
    const key = identity.type === 'authenticated' ? identity.key : undefined;
    if (load.isOverloaded) this.#answerUncounted(exchange, key, () => exchange.refuse('overloaded'));
    else if (identity.type === 'look-up') this.#lookUp(exchange, identity, calls, next);
    else {
      if (identity.type === 'authenticated') exchange.principal = identity.principal;
      if (this.#takePlace(exchange, key, calls)) next(identity);
    }
  }

  #lookUp(exchange: Exchange, { knownKey, lookUp }: KeyLookUp, calls: number, next: (arrival: Arrival) => void): void {
    if (!this.#takePlace(exchange, knownKey, calls)) return;
    if (knownKey === undefined) {
      if (!this.#options.isStorageAvailable()) {
        this.#answerUncounted(exchange, undefined, () => exchange.refuse('service_unavailable'));
        return;
      }
      const address = this.#options.limits.subjectOfAddress(exchange);
      const refusal = this.#options.limits.refusalOf(address);
      if (refusal !== undefined && !this.#lookUps.take(address.storageKey)) {
        next({ type: 'not-looked-up', refusal });
        return;
      }
    }
    const known = (authentication: Authentication) => {
      if (authentication.type !== 'authenticated') return next(authentication);
      exchange.principal = authentication.principal;
      // From here on it is the key's, not that of an address which many may share.
      exchange.holding.release();
      if (this.#takePlace(exchange, authentication.key, calls)) next(authentication);
    };
    whenKnown(exchange, lookUp(), known, (error) =>
      this.#answerUncounted(exchange, undefined, () => exchange.fail(error)),
    );
  }

  /** @returns whether a caller may have more under way; otherwise it was told so. What never fits is refused later */
  #takePlace(exchange: Exchange, key: ApiKey | undefined, calls: number): boolean {
    const { limits } = this.#options;
    const subject = key === undefined ? limits.subjectOfAddress(exchange) : limits.subjectOfKey(key);
    const max = key === undefined ? ADDRESS_REQUESTS_UNDER_WAY_MAX : KEY_REQUESTS_UNDER_WAY_MAX;
    const count = key === undefined || calls > max ? 1 : calls;
    if (exchange.holding.take(this.#underWay, subject.storageKey, count, max)) return true;
    const refusal = limits.refusalOf(subject);
    if (refusal !== undefined) limits.refuse(exchange, refusal);
    else this.#answerUncounted(exchange, key, () => exchange.refuseCrowded());
    return false;
  }

  /** @param key left out where none is known: the answer then goes under the headers of the address */
  #answerUncounted(exchange: Exchange, key: ApiKey | undefined, answer: () => void): void {
    const { limits } = this.#options;
    limits.writeUncounted(exchange, key === undefined ? limits.subjectOfAddress(exchange) : limits.subjectOfKey(key));
    answer();
  }
}
