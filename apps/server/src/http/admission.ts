import type { IncomingMessage } from 'node:http';
import { ApiError, type Authenticator } from '@petstore/api';
import { type ApiKey, KEY_REQUESTS_UNDER_WAY_MAX } from '@petstore/domain';
import { bannedDecisionOf, canEverFit, type RateLimiter, writeRateLimitHeaders } from '@petstore/rate-limit';
import { Arrivals } from './arrivals.ts';
import type { ClientAddress } from './client-address.ts';
import { addPreflightHeaders, type CorsPolicy } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { FreeCalls } from './free-calls.ts';
import { LimitAnswers, whenKnown } from './limit-answers.ts';
import type { LoadShedder } from './load-shedder.ts';

export interface AdmissionOptions {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly clientAddress: ClientAddress;
  readonly cors: CorsPolicy;
  readonly load: LoadShedder;
  readonly isStorageAvailable: () => boolean;
  /** The clock, in milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** What a request takes from the limits of a key. Without a key it takes 1. */
export interface RequestCost {
  /** The calls it holds, all of which are under way at once. */
  readonly calls: number;
  /** Those that are charged. Of the free ones each is free once in a batch. */
  readonly charged: number;
}

export const ONE_CALL: RequestCost = { calls: 1, charged: 1 };

const NO_SINGLE_HOST = new ApiError('invalid_request', 'An HTTP/1.1 request must have exactly one Host header.');
const BATCH_TOO_LARGE = new ApiError('invalid_request', 'The batch holds more calls than the limits of the key allow.');

/** RFC 9110 section 10.1.1: the only expectation there is. */
const CONTINUE = /^100-continue$/i;

/** The door: who is there, and may they come in now. */
export class Admission {
  readonly #limiter: RateLimiter;
  readonly #cors: CorsPolicy;
  readonly #isStorageAvailable: () => boolean;
  readonly #limits: LimitAnswers;
  readonly #arrivals: Arrivals;
  readonly #freeCalls: FreeCalls;

  constructor(options: AdmissionOptions) {
    const { authenticator, limiter, clientAddress, cors, load, isStorageAvailable, nowMs } = options;
    this.#limiter = limiter;
    this.#cors = cors;
    this.#isStorageAvailable = isStorageAvailable;
    this.#limits = new LimitAnswers(limiter, clientAddress);
    this.#arrivals = new Arrivals({ authenticator, limits: this.#limits, load, isStorageAvailable });
    this.#freeCalls = new FreeCalls(nowMs);
  }

  /**
   * Checks, in this order, that the request can be understood, that there is room, how much its caller has under way, its
   * key, its limit and its expectation. Goes on by `proceed`, or answers.
   */
  admit(exchange: Exchange, cost: RequestCost, proceed: () => void): void {
    if (!hasSingleHost(exchange.request)) this.refuseMalformed(exchange, NO_SINGLE_HOST);
    else if (this.#cors.isPreflight(exchange.request)) this.#answerPreflight(exchange);
    else
      this.#arrivals.identify(exchange, cost.calls, (arrival) => {
        switch (arrival.type) {
          case 'authenticated':
            return this.#admitKey(exchange, arrival.key, cost, proceed);
          case 'missing':
            return this.#refuseWithoutKey(exchange, 'missing_api_key');
          case 'invalid':
            return this.#refuseWithoutKey(exchange, 'invalid_api_key');
          case 'not-looked-up':
            return this.#limits.refuse(exchange, arrival.refusal);
          default:
            return arrival satisfies never;
        }
      });
  }

  /** Answers to a request that cannot be understood: counted like any other, and 400 whatever comes of it. */
  refuseMalformed(exchange: Exchange, error: ApiError): void {
    this.#arrivals.identify(exchange, 1, (arrival) => {
      const isKnown = arrival.type === 'authenticated';
      const subject = isKnown ? this.#limits.subjectOfKey(arrival.key) : this.#limits.subjectOfAddress(exchange);
      this.#limits.count(exchange, subject, 1, () => exchange.fail(error));
    });
  }

  #admitKey(exchange: Exchange, key: ApiKey, { calls, charged }: RequestCost, proceed: () => void): void {
    if (calls > charged && !this.#mayCallFree(exchange, key)) return;
    if (charged === 0) {
      this.#admitFree(exchange, key, () => proceedIfExpected(exchange, proceed));
      return;
    }
    const subject = this.#limits.subjectOfKey(key);
    const fits = calls === 1 || (canEverFit(subject, charged) && calls <= KEY_REQUESTS_UNDER_WAY_MAX);
    this.#limits.count(exchange, subject, fits ? charged : 1, ({ outcome }) => {
      if (outcome !== 'admitted') exchange.refuse(outcome);
      else if (!fits) exchange.fail(BATCH_TOO_LARGE);
      else proceedIfExpected(exchange, proceed);
    });
  }

  /** @returns whether the key is not known to be banned, and its window of free calls has room; else it was told so */
  #mayCallFree(exchange: Exchange, key: ApiKey): boolean {
    const subject = this.#limits.subjectOfKey(key);
    const ban = this.#limits.refusalOf(subject);
    if (ban !== undefined) {
      this.#limits.refuse(exchange, ban);
      return false;
    }
    const decision = this.#freeCalls.checkCall(key.id);
    if (decision.outcome === 'admitted') return true;
    this.#limits.writeUncounted(exchange, subject);
    exchange.headers['retry-after'] = decision.retryAfterSeconds;
    exchange.refuse('rate_limit_exceeded');
    return false;
  }

  /** Goes on under the standing of a key, which is looked at once and charged nothing. */
  #admitFree(exchange: Exchange, key: ApiKey, proceed: () => void): void {
    whenKnown(exchange, this.#limiter.peek(this.#limits.subjectOfKey(key)), (standing) => {
      const ban = bannedDecisionOf(standing);
      if (ban !== undefined) return this.#limits.refuse(exchange, ban);
      writeRateLimitHeaders(exchange.headers, standing);
      exchange.standing = standing;
      proceed();
    });
  }

  #refuseWithoutKey(exchange: Exchange, reason: 'missing_api_key' | 'invalid_api_key'): void {
    const address = this.#limits.subjectOfAddress(exchange);
    if (this.#isStorageAvailable()) {
      this.#limits.count(exchange, address, 1, ({ outcome }) => {
        exchange.refuse(outcome === 'admitted' ? reason : outcome);
      });
    } else {
      this.#limits.writeUncounted(exchange, address);
      exchange.refuse('service_unavailable');
    }
  }

  /** A preflight carries no key, and counted with its address' requests would make that the narrowest limit of all. */
  #answerPreflight(exchange: Exchange): void {
    const address = this.#limits.subjectOfAddress(exchange);
    const decision = this.#freeCalls.checkPreflight(address);
    this.#limits.writeUncounted(exchange, address);
    if (decision.outcome === 'admitted') {
      addPreflightHeaders(exchange.headers);
      exchange.sendEmpty(204);
    } else {
      exchange.headers['retry-after'] = decision.retryAfterSeconds;
      exchange.refuse('rate_limit_exceeded');
    }
  }
}

function proceedIfExpected(exchange: Exchange, proceed: () => void): void {
  if (isExpectationMet(exchange.request)) proceed();
  else exchange.refuse('expectation_failed');
}

/** RFC 9112 section 3.2: a request with none, or with more than one, is answered with 400. */
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
