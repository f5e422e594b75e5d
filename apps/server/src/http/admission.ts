import { ApiError, type Authentication, type Authenticator, type KeyLookUp } from '@petstore/api';
import {
  type ApiKeyPrincipal,
  apiKeySubject,
  FREE_CALLS_PER_MINUTE,
  KEY_REQUESTS_IN_FLIGHT_MAX,
} from '@petstore/domain';
import {
  bannedDecisionOf,
  canEverFit,
  type HeaderSource,
  InProcessLimiter,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRefusal,
  type RateLimitSnapshot,
  rateLimitHeaders,
  type Subject,
} from '@petstore/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type CountedDecision, type HttpMetrics, type LimitedCaller, REFUSAL_CODES } from '../operations/metrics.ts';
import { addressSubject, clientAddressOf, oneWindow } from './address.ts';
import type { Release, RequestsInFlight } from './concurrency.ts';
import { createLookUpBound } from './look-up-bound.ts';
import { malformationOf } from './malformed-requests.ts';
import { logFieldsOf, whenClosed } from './observe.ts';
import { costOf, type RequestCost } from './request-cost.ts';
import { refusalOf } from './responses.ts';

/** What admission found out about a request. */
interface Admission {
  /** The owner of the key, if the request has one that is known. */
  readonly principal: ApiKeyPrincipal | undefined;
  /** The subject for which the request counts: its key if the key is known, otherwise its address. */
  readonly subject: Subject;
  /** The limits that the response shows: the decision on the request, or the status that was read for it. */
  readonly limits?: { readonly source: HeaderSource; readonly readAtMs: number };
  /** The status of the key's limits, if it was read. */
  readonly status?: RateLimitSnapshot;
  /** Gives back what the request has acquired of {@link RequestsInFlight}. */
  readonly release: Release;
}

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | undefined;
  }
}

export interface AdmissionOptions {
  /** Whether the paths need a key. Those that need none are not counted, and show no limits. */
  readonly needsKey: boolean;
  readonly authenticator: Pick<Authenticator, 'identify'>;
  readonly limiter: RateLimiter;
  readonly requestsInFlight: RequestsInFlight;
  readonly metrics: HttpMetrics;
  /** Whether PostgreSQL was reached at the last check. */
  readonly isStorageAvailable: () => boolean;
  /** The clock, in milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** The decision on a call that is free. */
const ADMITTED: CountedDecision = { outcome: 'admitted' };
const BATCH_TOO_LARGE = new ApiError('invalid_request', 'The batch holds more calls than the limits of the key allow.');
/** RFC 9110 section 10.1.1: the only expectation that is defined. Node meets it itself. */
const CONTINUE = /^100-continue$/i;

/**
 * Decides which requests are served, and sets the headers of the limits. It is registered once for the paths that need a
 * key and once for the others.
 */
export const admission = fp<AdmissionOptions>(
  async (app, options) => {
    const { needsKey, limiter, nowMs } = options;
    const control = new AdmissionControl(options);
    app.decorateRequest('admission', undefined);

    app.addHook('onRequest', (request, reply, done) => {
      // The refusals of a tick are sent together: waking their clients once halves the cost of a refusal.
      const settle = (refusal?: Error) => (refusal === undefined ? done() : setImmediate(done, refusal));
      control.admit(request, reply).then(settle, settle);
    });

    if (!needsKey) return;
    // The headers are set here because a response may take its time: no header may name a time that has passed.
    app.addHook('onSend', (request, reply, _payload, done) => {
      const { limits, subject } = request.admission ?? { subject: addressSubject(clientAddressOf(request)) }; // a preflight
      if (limits !== undefined) {
        reply.headers(rateLimitHeaders(limits.source, nowMs() - limits.readAtMs));
      } else {
        // The request was not refused by this limit, so the limit's Retry-After would be wrong.
        const { 'retry-after': _, ...headers } = rateLimitHeaders(limiter.lastKnown(subject));
        reply.headers(headers);
      }
      done();
    });
  },
  { name: 'admission', dependencies: ['responses'] },
);

/** Refusals are returned, not thrown: most go to callers who send too much, and throwing takes some microseconds. */
class AdmissionControl {
  readonly #options: AdmissionOptions;
  /** Limits free calls of a key, in windows of this process alone. */
  readonly #freeCalls: InProcessLimiter;
  readonly #mayLookUp = createLookUpBound();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#freeCalls = new InProcessLimiter({ nowMs: options.nowMs });
  }

  /**
   * The order of the checks: what is malformed, what the caller has in flight, its key, its limit, its expectation. Path,
   * method and scope are checked by the routes, behind it.
   *
   * @returns why the request is refused; `undefined` if it is served
   */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<ApiError | undefined> {
    const { needsKey, authenticator } = this.#options;
    const identity = needsKey ? authenticator.identify(request.headers.authorization) : undefined;
    countFor(request, identity && principalIn(identity));
    const refusal =
      this.#acquire(request, reply) ??
      (identity && (await this.#judge(request, reply, identity))) ??
      refusalOfExpectation(request);
    // Nobody learns more from a malformed request than that it is malformed. It counts for its caller all the same.
    return malformationOf(request) ?? refusal;
  }

  /** Counts the request among those that its caller has in flight, in place of what it has acquired before. */
  #acquire(request: FastifyRequest, reply: FastifyReply): ApiError | undefined {
    const { needsKey, requestsInFlight } = this.#options;
    const admission = admissionOf(request);
    const { principal, subject } = admission;
    admission.release();
    const acquired = requestsInFlight.acquire(subject.name, principal !== undefined, costOf(request).calls);
    if (typeof acquired !== 'string') {
      request.admission = { ...admission, release: acquired };
      whenClosed(reply, acquired);
      return undefined;
    }
    const remembered = needsKey && acquired === 'too_many_in_flight' ? this.#rememberedFor(subject) : undefined;
    return remembered === undefined ? refusalOf(acquired) : this.#refuseAgain(request, remembered);
  }

  #judge(
    request: FastifyRequest,
    reply: FastifyReply,
    identity: Authentication | KeyLookUp,
  ): Promise<ApiError | undefined> {
    switch (identity.type) {
      case 'authenticated':
        return this.#charge(request, reply);
      case 'missing':
        return this.#refuseWithoutKey(request, 'missing_api_key');
      case 'invalid':
        return this.#refuseWithoutKey(request, 'invalid_api_key');
      case 'look-up':
        return this.#lookUp(request, reply, identity);
      default:
        return identity satisfies never;
    }
  }

  async #lookUp(
    request: FastifyRequest,
    reply: FastifyReply,
    { knownPrincipal, lookUp }: KeyLookUp,
  ): Promise<ApiError | undefined> {
    if (knownPrincipal === undefined) {
      if (!this.#options.isStorageAvailable()) return refusalOf('service_unavailable');
      const { subject } = admissionOf(request);
      const remembered = this.#rememberedFor(subject);
      if (remembered !== undefined && !this.#mayLookUp(subject.name)) return this.#refuseAgain(request, remembered);
    }
    const found = await lookUp();
    countFor(request, principalIn(found));
    // Until now the request was one of an address that many callers may share.
    const wasUnknown = knownPrincipal === undefined && found.type === 'authenticated';
    return (wasUnknown ? this.#acquire(request, reply) : undefined) ?? this.#judge(request, reply, found);
  }

  async #charge(request: FastifyRequest, reply: FastifyReply): Promise<ApiError | undefined> {
    const cost = costOf(request);
    if (cost.calls > cost.charged) {
      const refusal = this.#countFreeCalls(request, reply);
      if (refusal !== undefined) return refusal;
    }
    if (cost.charged === 0) return this.#peek(request);
    const fits = canFit(admissionOf(request).subject, cost);
    const { outcome } = await this.#count(request, fits ? cost.charged : 1);
    if (outcome !== 'admitted') return refusalOf(REFUSAL_CODES[outcome]);
    return fits ? undefined : BATCH_TOO_LARGE;
  }

  async #refuseWithoutKey(request: FastifyRequest, reason: 'missing_api_key' | 'invalid_api_key'): Promise<ApiError> {
    if (!this.#options.isStorageAvailable()) return refusalOf('service_unavailable');
    const { outcome } = await this.#count(request, 1);
    return refusalOf(outcome === 'admitted' ? reason : REFUSAL_CODES[outcome]);
  }

  /** @returns the refusal in force of a caller that is over its limit or banned, as far as this process remembers */
  #rememberedFor(subject: Subject): RateLimitRefusal | undefined {
    const known = this.#options.limiter.lastKnown(subject);
    return known.outcome === 'last known' ? undefined : known;
  }

  /** Refuses a request by a refusal that is in force, without asking Redis. */
  #refuseAgain(request: FastifyRequest, refusal: RateLimitRefusal): ApiError {
    this.#options.metrics.countRemembered(limitedCallerOf(request), refusal);
    this.#show(request, refusal);
    return refusalOf(REFUSAL_CODES[refusal.outcome]);
  }

  /** Refuses a key that is known to be banned, or has used up its free calls. */
  #countFreeCalls(request: FastifyRequest, reply: FastifyReply): ApiError | undefined {
    const { subject } = admissionOf(request);
    const remembered = this.#rememberedFor(subject);
    if (remembered !== undefined) return this.#refuseAgain(request, remembered);
    const decision = this.#freeCalls.check(oneWindow(subject.name, FREE_CALLS_PER_MINUTE), 1);
    if (decision.outcome === 'admitted') return undefined;
    this.#options.metrics.countDecision(limitedCallerOf(request), decision);
    reply.header('retry-after', decision.retryAfterSeconds);
    return refusalOf('rate_limit_exceeded');
  }

  /** Reads the status of a key once for its free calls, without charging the key. */
  async #peek(request: FastifyRequest): Promise<ApiError | undefined> {
    const { limiter, metrics } = this.#options;
    const status = await limiter.peek(admissionOf(request).subject);
    const ban = bannedDecisionOf(status);
    metrics.countDecision(limitedCallerOf(request), ban ?? ADMITTED);
    this.#show(request, ban ?? status);
    if (ban !== undefined) return refusalOf('api_key_banned');
    request.admission = { ...admissionOf(request), status };
    return undefined;
  }

  async #count(request: FastifyRequest, cost: number): Promise<RateLimitDecision> {
    const { limiter, metrics } = this.#options;
    const decision = await limiter.check(admissionOf(request).subject, cost);
    metrics.countDecision(limitedCallerOf(request), decision);
    this.#show(request, decision);
    if (decision.outcome === 'banned' && decision.isNew) {
      const until = new Date(decision.bannedUntilMs).toISOString();
      request.log.warn({ ...logFieldsOf(request), banLevel: decision.level, until }, 'a key was banned');
    }
    return decision;
  }

  #show(request: FastifyRequest, source: HeaderSource): void {
    request.admission = { ...admissionOf(request), limits: { source, readAtMs: this.#options.nowMs() } };
  }
}

/** From here on the request counts for the key of its principal or, without one, for its address. */
function countFor(request: FastifyRequest, principal: ApiKeyPrincipal | undefined): void {
  const subject = principal === undefined ? addressSubject(clientAddressOf(request)) : subjectOf(principal);
  request.admission = { principal, subject, release: request.admission?.release ?? (() => {}) };
}

const principalIn = (identity: Authentication | KeyLookUp): ApiKeyPrincipal | undefined => {
  if (identity.type === 'authenticated') return identity.principal;
  return identity.type === 'look-up' ? identity.knownPrincipal : undefined;
};

function admissionOf({ admission }: FastifyRequest): Admission {
  if (admission === undefined) throw new Error('A request was served that was not admitted.');
  return admission;
}

/** The owner of the key of a request that was admitted. */
export function principalOf(request: FastifyRequest): ApiKeyPrincipal {
  const { principal } = admissionOf(request);
  if (principal === undefined) throw new Error('An operation was called without a key.');
  return principal;
}

/** One subject for each principal that the authenticator caches. A key whose plan changes gets another principal. */
const subjects = new WeakMap<ApiKeyPrincipal, Subject>();

function subjectOf(principal: ApiKeyPrincipal): Subject {
  const subject = subjects.get(principal) ?? apiKeySubject(principal.keyId, principal.plan);
  subjects.set(principal, subject);
  return subject;
}

const limitedCallerOf = ({ admission }: FastifyRequest): LimitedCaller => admission?.principal?.plan.name ?? 'address';

const canFit = (subject: Subject, { calls, charged }: RequestCost): boolean =>
  calls === 1 || (canEverFit(subject, charged) && calls <= KEY_REQUESTS_IN_FLIGHT_MAX);

function refusalOfExpectation({ headers, raw }: FastifyRequest): ApiError | undefined {
  const { expect = '100-continue' } = headers;
  return CONTINUE.test(expect) || raw.httpVersionMinor === 0 ? undefined : refusalOf('expectation_failed');
}
