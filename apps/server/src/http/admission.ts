import type { IncomingMessage } from 'node:http';
import { ApiError, type ErrorCode } from '@petstore/api';
import {
  type ApiKeyPrincipal,
  FREE_CALLS_PER_MINUTE,
  KEY_REQUESTS_IN_FLIGHT_MAX,
  PREFLIGHTS_PER_MINUTE,
} from '@petstore/domain';
import {
  bannedDecisionOf,
  type ClientAddressSubject,
  canEverFit,
  InProcessLimiter,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRefusal,
  type RateLimitSubject,
  writeRateLimitHeaders,
} from '@petstore/rate-limit';
import type { CountedDecision, DecisionMetrics, LimitedCaller } from './app-options.ts';
import type { Exchange } from './exchange.ts';
import { type Caller, Identification, type IdentificationOptions } from './identification.ts';
import { addPreflightHeaders, type CorsPolicy } from './response-headers.ts';

export interface AdmissionOptions extends IdentificationOptions {
  readonly limiter: RateLimiter;
  readonly decisions: DecisionMetrics;
  readonly cors: CorsPolicy;
  /** The clock, in milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** What a request takes from the limits of its key. Without a key it takes 1 from those of its address. */
export interface RequestCost {
  /** The calls it holds, all of which are in flight at once. */
  readonly calls: number;
  /** Those that are charged. Of the free ones each is free once in a batch. */
  readonly charged: number;
}

export const ONE_CALL: RequestCost = { calls: 1, charged: 1 };

/** Of a call that is charged nothing. */
const ADMITTED: CountedDecision = { outcome: 'admitted' };

const NO_SINGLE_HOST = new ApiError('invalid_request', 'An HTTP/1.1 request must have exactly one Host header.');
const BATCH_TOO_LARGE = new ApiError('invalid_request', 'The batch holds more calls than the limits of the key allow.');

/** RFC 9110 section 10.1.1: the only expectation there is. */
const CONTINUE = /^100-continue$/i;

/** Decides whether a request goes on to its handler, and writes the rate-limit headers either way. */
export class Admission {
  readonly #limiter: RateLimiter;
  readonly #decisions: DecisionMetrics;
  readonly #cors: CorsPolicy;
  readonly #isStorageAvailable: () => boolean;
  readonly #identification: Identification;
  /** Bound what takes nothing from the limits of a key or an address, in windows of this process alone. */
  readonly #freeCalls: InProcessLimiter;
  readonly #preflights: InProcessLimiter;

  constructor(options: AdmissionOptions) {
    this.#limiter = options.limiter;
    this.#decisions = options.decisions;
    this.#cors = options.cors;
    this.#isStorageAvailable = options.isStorageAvailable;
    this.#identification = new Identification(options);
    this.#freeCalls = new InProcessLimiter({ nowMs: options.nowMs });
    this.#preflights = new InProcessLimiter({ nowMs: options.nowMs });
  }

  /**
   * Checks, in this order, that the request can be understood, that there is room, how much its caller has in flight, its
   * key, its limit and its expectation.
   *
   * @returns whether the request goes on; otherwise it has its response
   */
  async admit(exchange: Exchange, cost: RequestCost): Promise<boolean> {
    if (!hasSingleHost(exchange.request)) {
      await this.refuseMalformed(exchange, NO_SINGLE_HOST);
      return false;
    }
    if (this.#cors.isPreflight(exchange.request)) return this.#respondToPreflight(exchange);
    const caller = await this.#identification.identify(exchange, cost.calls);
    switch (caller.type) {
      case 'authenticated':
        return this.#admitKey(exchange, caller.principal, cost);
      case 'missing':
        return this.#refuseWithoutKey(exchange, 'missing_api_key');
      case 'invalid':
        return this.#refuseWithoutKey(exchange, 'invalid_api_key');
      case 'limited':
        return this.#refuseRemembered(exchange, caller.caller, caller.refusal);
      case 'unserved':
      case 'failed':
        return this.#refuseUncounted(exchange, caller);
      default:
        return caller satisfies never;
    }
  }

  /** Responds to a request that cannot be understood: counted like any other, and 400 whatever comes of it. */
  async refuseMalformed(exchange: Exchange, error: ApiError): Promise<void> {
    const caller = await this.#identification.identify(exchange, 1);
    if (caller.type === 'unserved' || caller.type === 'failed') {
      this.#refuseUncounted(exchange, caller);
      return;
    }
    if (caller.type === 'authenticated') await this.#countKey(exchange, caller.principal, 1);
    else await this.#countAddress(exchange);
    exchange.fail(error);
  }

  async #admitKey(exchange: Exchange, principal: ApiKeyPrincipal, { calls, charged }: RequestCost): Promise<boolean> {
    const subject = this.#identification.subjectOfKey(principal);
    if (calls > charged && !this.#mayCallFree(exchange, subject, principal)) return false;
    if (charged === 0) {
      if (!(await this.#admitFree(exchange, subject, principal))) return false;
    } else {
      const fits = calls === 1 || (canEverFit(subject, charged) && calls <= KEY_REQUESTS_IN_FLIGHT_MAX);
      const { outcome } = await this.#countKey(exchange, principal, fits ? charged : 1);
      if (outcome !== 'admitted') return refuse(exchange, outcome);
      if (!fits) {
        exchange.fail(BATCH_TOO_LARGE);
        return false;
      }
    }
    return isExpectationMet(exchange.request) || refuse(exchange, 'expectation_failed');
  }

  /** @returns whether the key is not known to be banned, and its window of free calls has room */
  #mayCallFree(exchange: Exchange, subject: RateLimitSubject, { keyId, plan }: ApiKeyPrincipal): boolean {
    const recalled = this.#limiter.recall(subject);
    if (recalled.outcome !== 'recalled') return this.#refuseRemembered(exchange, plan.name, recalled);
    const decision = this.#freeCalls.check(oneWindow(keyId, FREE_CALLS_PER_MINUTE), 1);
    if (decision.outcome === 'admitted') return true;
    this.#decisions.countDecision(plan.name, decision);
    this.#writeUncounted(exchange, subject);
    exchange.headers['retry-after'] = decision.retryAfterSeconds;
    return refuse(exchange, 'rate_limit_exceeded');
  }

  /** The status of the key is looked up once, and charged nothing. */
  async #admitFree(exchange: Exchange, subject: RateLimitSubject, { plan }: ApiKeyPrincipal): Promise<boolean> {
    const snapshot = await this.#limiter.peek(subject);
    const ban = bannedDecisionOf(snapshot);
    this.#decisions.countDecision(plan.name, ban ?? ADMITTED);
    if (ban !== undefined) return this.#refuse(exchange, ban);
    writeRateLimitHeaders(exchange.headers, snapshot);
    exchange.rateLimit = snapshot;
    return true;
  }

  async #refuseWithoutKey(exchange: Exchange, reason: 'missing_api_key' | 'invalid_api_key'): Promise<false> {
    if (!this.#isStorageAvailable()) {
      const subject = this.#identification.subjectOfAddress(exchange);
      return this.#refuseUncounted(exchange, { type: 'unserved', subject, code: 'service_unavailable' });
    }
    const { outcome } = await this.#countAddress(exchange);
    return refuse(exchange, outcome === 'admitted' ? reason : outcome);
  }

  /** A preflight carries no key. Counted with the requests of its address, it would make that the narrowest limit of all. */
  #respondToPreflight(exchange: Exchange): false {
    const address = this.#identification.subjectOfAddress(exchange);
    const decision = this.#preflights.check(oneWindow(address.storageKey, PREFLIGHTS_PER_MINUTE), 1);
    this.#decisions.countDecision('address', decision);
    this.#writeUncounted(exchange, address);
    if (decision.outcome === 'admitted') {
      addPreflightHeaders(exchange.headers);
      exchange.sendEmpty(204);
      return false;
    }
    exchange.headers['retry-after'] = decision.retryAfterSeconds;
    return refuse(exchange, 'rate_limit_exceeded');
  }

  #countKey(exchange: Exchange, principal: ApiKeyPrincipal, cost: number): Promise<RateLimitDecision> {
    return this.#count(exchange, this.#identification.subjectOfKey(principal), principal.plan.name, cost);
  }

  #countAddress(exchange: Exchange): Promise<RateLimitDecision> {
    return this.#count(exchange, this.#identification.subjectOfAddress(exchange), 'address', 1);
  }

  async #count(
    exchange: Exchange,
    subject: RateLimitSubject,
    caller: LimitedCaller,
    cost: number,
  ): Promise<RateLimitDecision> {
    const decision = await this.#limiter.check(subject, cost);
    this.#decisions.countDecision(caller, decision);
    writeRateLimitHeaders(exchange.headers, decision);
    if (decision.outcome === 'api_key_banned' && decision.isNew) exchange.logBan(decision);
    return decision;
  }

  #refuseRemembered(exchange: Exchange, caller: LimitedCaller, refusal: RateLimitRefusal): false {
    this.#decisions.countRemembered(caller, refusal);
    return this.#refuse(exchange, refusal);
  }

  #refuse(exchange: Exchange, refusal: RateLimitRefusal): false {
    writeRateLimitHeaders(exchange.headers, refusal);
    return refuse(exchange, refusal.outcome);
  }

  #refuseUncounted(exchange: Exchange, caller: Extract<Caller, { type: 'unserved' | 'failed' }>): false {
    this.#writeUncounted(exchange, caller.subject);
    if (caller.type === 'failed') exchange.fail(caller.error);
    else if (caller.code === 'rate_limit_exceeded') exchange.refuseCrowded();
    else exchange.refuse(caller.code);
    return false;
  }

  /** Writes the headers of a caller who is not charged, without asking Redis. */
  #writeUncounted(exchange: Exchange, subject: RateLimitSubject): void {
    writeRateLimitHeaders(exchange.headers, this.#limiter.recall(subject));
    delete exchange.headers['retry-after']; // what the request meets is not this limit
  }
}

function refuse(exchange: Exchange, code: ErrorCode): false {
  exchange.refuse(code);
  return false;
}

/** One window, and never a ban: as that of an address. */
const oneWindow = (storageKey: string, perMinute: number): ClientAddressSubject => ({
  type: 'client-address',
  storageKey,
  perMinute,
  perDay: undefined,
});

/** RFC 9112 section 3.2: a request with none, or with more than one, is refused with 400. */
function hasSingleHost({ headers, rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersionMajor === 1 && httpVersionMinor === 0;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1;
}

const isExpectationMet = ({ headers: { expect }, httpVersionMinor }: IncomingMessage): boolean =>
  expect === undefined || httpVersionMinor === 0 || CONTINUE.test(expect);
