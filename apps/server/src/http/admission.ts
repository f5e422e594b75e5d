import type { IncomingMessage } from 'node:http';
import { ApiError, type Authentication, type Authenticator } from '@petstore/api';
import { type ApiKey, limitsOfPlan, StorageUnavailableError } from '@petstore/domain';
import {
  type ApiKeySubject,
  apiKeySubject,
  type ClientAddressSubject,
  canEverFit,
  clientAddressSubject,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitSubject,
  writeRateLimitHeaders,
} from '@petstore/rate-limit';
import type { ClientAddress } from './client-address.ts';
import { addPreflightHeaders, type CorsPolicy } from './cors.ts';
import type { Exchange } from './exchange.ts';
import type { Load } from './load.ts';

export interface AdmissionOptions {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly clientAddress: ClientAddress;
  readonly cors: CorsPolicy;
  readonly load: Load;
  readonly isStorageAvailable: () => boolean;
}

const NO_SINGLE_HOST = new ApiError('invalid_request', 'An HTTP/1.1 request must have exactly one Host header.');
const BATCH_TOO_LARGE = new ApiError('invalid_request', 'The batch holds more calls than the limits of the key allow.');

/** RFC 9110 section 10.1.1: the only expectation there is. */
const CONTINUE = /^100-continue$/i;

/** The door: who is there, and may they come in now. */
export class Admission {
  readonly #options: AdmissionOptions;
  /** Made once for what the authenticator keeps of a key. */
  readonly #subjects = new WeakMap<ApiKey, ApiKeySubject>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /**
   * Checks, in this order, that the request can be understood, its key, its limit, its expectation and that there is
   * room. Goes on by `proceed`, or answers.
   *
   * @param cost what the request takes from the limits of a key, perhaps nothing; 1 without a key
   */
  admit(exchange: Exchange, cost: number, proceed: () => void): void {
    if (!hasSingleHost(exchange.request)) this.refuseMalformed(exchange, NO_SINGLE_HOST);
    else if (this.#options.cors.isPreflight(exchange.request)) this.#answerPreflight(exchange);
    else
      this.#authenticate(exchange, (authentication) => {
        switch (authentication.type) {
          case 'authenticated':
            exchange.principal = authentication.principal;
            return this.#admitKey(exchange, authentication.key, cost, proceed);
          case 'missing':
            return this.#refuseWithoutKey(exchange, 'missing_api_key');
          case 'invalid':
            return this.#refuseWithoutKey(exchange, 'invalid_api_key');
          default:
            return authentication satisfies never;
        }
      });
  }

  /** Answers to a request that cannot be understood: counted like any other, and 400 whatever comes of it. */
  refuseMalformed(exchange: Exchange, error: ApiError): void {
    this.#authenticate(exchange, (authentication) => {
      const isKnown = authentication.type === 'authenticated';
      if (isKnown) exchange.principal = authentication.principal;
      const subject = isKnown ? this.#subjectOfKey(authentication.key) : this.#subjectOfAddress(exchange);
      this.#count(exchange, subject, 1, () => exchange.fail(error));
    });
  }

  #authenticate(exchange: Exchange, next: (authentication: Authentication) => void): void {
    const authentication = this.#options.authenticator.authenticate(exchange.request.headers.authorization);
    whenKnown(exchange, authentication, next, (error) => {
      if (!(error instanceof StorageUnavailableError)) exchange.fail(error);
      else this.#answerUncounted(exchange, this.#subjectOfAddress(exchange), () => exchange.fail(error));
    });
  }

  #admitKey(exchange: Exchange, key: ApiKey, cost: number, proceed: () => void): void {
    const subject = this.#subjectOfKey(key);
    if (cost === 0) {
      this.#answerUncounted(exchange, subject, () => this.#proceedIfPossible(exchange, proceed));
      return;
    }
    const fits = cost === 1 || canEverFit(subject, cost);
    this.#count(exchange, subject, fits ? cost : 1, ({ outcome }) => {
      if (outcome !== 'admitted') exchange.refuse(outcome);
      else if (!fits) exchange.fail(BATCH_TOO_LARGE);
      else this.#proceedIfPossible(exchange, proceed);
    });
  }

  #proceedIfPossible(exchange: Exchange, proceed: () => void): void {
    if (!isExpectationMet(exchange.request)) exchange.refuse('expectation_failed');
    else if (this.#options.load.isOverloaded) exchange.refuse('overloaded');
    else proceed();
  }

  #refuseWithoutKey(exchange: Exchange, reason: 'missing_api_key' | 'invalid_api_key'): void {
    if (this.#options.isStorageAvailable()) {
      this.#count(exchange, this.#subjectOfAddress(exchange), 1, ({ outcome }) => {
        exchange.refuse(outcome === 'admitted' ? reason : outcome);
      });
    } else {
      this.#answerUncounted(exchange, this.#subjectOfAddress(exchange), () => exchange.refuse('service_unavailable'));
    }
  }

  /** A preflight carries no key, and counting it per address would make it the narrowest limit of all. */
  #answerPreflight(exchange: Exchange): void {
    addPreflightHeaders(exchange.headers);
    this.#answerUncounted(exchange, this.#subjectOfAddress(exchange), () => exchange.sendEmpty(204));
  }

  /** Answers under the headers of a subject, which is not charged. */
  #answerUncounted(exchange: Exchange, subject: RateLimitSubject, answer: () => void): void {
    whenKnown(exchange, this.#options.limiter.peek(subject), (standing) => {
      writeRateLimitHeaders(exchange.headers, standing);
      answer();
    });
  }

  #count(exchange: Exchange, subject: RateLimitSubject, cost: number, next: (decision: RateLimitDecision) => void) {
    whenKnown(exchange, this.#options.limiter.check(subject, cost), (decision) => {
      writeRateLimitHeaders(exchange.headers, decision);
      next(decision);
    });
  }

  #subjectOfKey(key: ApiKey): ApiKeySubject {
    let subject = this.#subjects.get(key);
    if (subject === undefined) {
      subject = apiKeySubject(key.id, limitsOfPlan(key.plan));
      this.#subjects.set(key, subject);
    }
    return subject;
  }

  #subjectOfAddress({ request }: Exchange): ClientAddressSubject {
    return clientAddressSubject(this.#options.clientAddress(request));
  }
}

/** Goes on at once where a value is there, without a promise. Whatever is thrown on the way is answered. */
function whenKnown<Value>(
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
