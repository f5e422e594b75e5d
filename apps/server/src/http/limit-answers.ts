import { type ApiKey, limitsOfPlan } from '@petstore/domain';
import {
  type ApiKeySubject,
  apiKeySubject,
  type BannedDecision,
  type ClientAddressSubject,
  clientAddressSubject,
  type ExceededDecision,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitSubject,
  writeRateLimitHeaders,
} from '@petstore/rate-limit';
import type { ClientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';

/** Counts requests, and writes what every answer tells of it. */
export class LimitAnswers {
  readonly #limiter: RateLimiter;
  readonly #clientAddress: ClientAddress;
  /** Made once for what the authenticator keeps of a key. */
  readonly #subjects = new WeakMap<ApiKey, ApiKeySubject>();

  constructor(limiter: RateLimiter, clientAddress: ClientAddress) {
    this.#limiter = limiter;
    this.#clientAddress = clientAddress;
  }

  subjectOfKey(key: ApiKey): ApiKeySubject {
    let subject = this.#subjects.get(key);
    if (subject === undefined) {
      subject = apiKeySubject(key.id, limitsOfPlan(key.plan));
      this.#subjects.set(key, subject);
    }
    return subject;
  }

  subjectOfAddress({ request }: Exchange): ClientAddressSubject {
    return clientAddressSubject(this.#clientAddress(request));
  }

  count(
    exchange: Exchange,
    subject: RateLimitSubject,
    cost: number,
    next: (decision: RateLimitDecision) => void,
  ): void {
    whenKnown(exchange, this.#limiter.check(subject, cost), (decision) => {
      writeRateLimitHeaders(exchange.headers, decision);
      next(decision);
    });
  }

  /** The refusal that a caller would meet whatever it asks for, as far as this process knows. */
  refusalOf(subject: RateLimitSubject): ExceededDecision | BannedDecision | undefined {
    const standing = this.#limiter.recall(subject);
    return standing.outcome === 'recalled' ? undefined : standing;
  }

  refuse(exchange: Exchange, refusal: ExceededDecision | BannedDecision): void {
    writeRateLimitHeaders(exchange.headers, refusal);
    exchange.refuse(refusal.outcome);
  }

  /** Writes the headers of a caller who is not charged, without asking Redis. */
  writeUncounted(exchange: Exchange, subject: RateLimitSubject): void {
    const { atMs, minute, day } = this.#limiter.recall(subject);
    writeRateLimitHeaders(exchange.headers, { outcome: 'recalled', atMs, minute, day });
  }
}

/** Goes on at once where a value is there, without a promise. Whatever is thrown on the way is answered. */
export function whenKnown<Value>(
  exchange: Exchange,
  value: Value | Promise<Value>,
  next: (value: Value) => void,
  failed: (error: unknown) => void = (error) => exchange.fail(error),
): void {
  if (!(value instanceof Promise)) {
    next(value);
    return;
  }
  value.then((known) => {
    try {
      next(known);
    } catch (error) {
      exchange.fail(error);
    }
  }, failed);
}
