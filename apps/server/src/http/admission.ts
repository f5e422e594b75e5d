import {
  type ApiError,
  type Authentication,
  type Authenticator,
  createRefusal,
  type ErrorCode,
  type KeyLookUp,
  refusalOf,
} from '@petstore/api';
import { type ApiKeyPrincipal, apiKeySubject, type Clock } from '@petstore/domain';
import {
  type HeaderSource,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRefusal,
  rateLimitHeaders,
  type Subject,
} from '@petstore/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { HttpMetrics, LimitedCaller } from '../operations/metrics.ts';
import { addressSubject, clientAddressOf } from './address.ts';
import type { CallerKind, RequestsInFlight } from './concurrency.ts';
import { createLookUpBound } from './look-up-bound.ts';
import { malformationOf } from './malformed-requests.ts';
import { logFieldsOf, whenClosed } from './observe.ts';
import { REFUSAL_CODES } from './refusal-codes.ts';
import { canFit, costOf } from './request-cost.ts';
import { logFailure } from './responses.ts';

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
  /** Milliseconds since any moment. It is never set, unlike the wall clock. */
  readonly monotonicNowMs: () => number;
  /** The wall clock, by which keys expire. */
  readonly clock: Clock;
}

/** How long before its end a key is announced to expire. */
const EXPIRY_ANNOUNCED_MS = 14 * 86_400_000;

const BATCH_TOO_LARGE = createRefusal(
  'invalid_request',
  'The batch contains more calls than the limits of the key allow.',
);
/** RFC 9110 section 10.1.1: the only expectation that is defined. Node meets it itself. */
const CONTINUE = /^100-continue$/i;

/**
 * Decides which requests are served, and sets the headers of the limits. It is registered once for the paths that need a
 * key and once for the others.
 */
export const admission = fp<AdmissionOptions>(
  async (app, options) => {
    const { needsKey, limiter, monotonicNowMs, clock } = options;
    const control: AdmissionControl = { ...options, mayLookUp: createLookUpBound() };
    app.decorateRequest('admission', undefined);

    app.addHook('onRequest', (request, reply, done) => {
      // The refusals of a tick are sent together: waking their clients once halves the cost of a refusal.
      const settle = (refusal?: Error) => (refusal === undefined ? done() : setImmediate(done, refusal));
      request.admission = new Admission(request, reply, control);
      request.admission.decide().then(settle, settle);
    });

    if (!needsKey) return;
    // The headers are set here because a response may take its time: no header may name a time that has passed.
    app.addHook('onSend', (request, reply, _payload, done) => {
      const { limits, subject } = request.admission ?? { subject: addressSubject(clientAddressOf(request)) }; // a preflight
      const headers =
        limits === undefined
          ? rateLimitHeaders(limiter.lastKnown(subject))
          : rateLimitHeaders(limits.source, monotonicNowMs() - limits.readAtMs);
      // A request that is refused for another reason may come again before the limit allows the next one.
      if (!isRefusalOfLimit(request.errorCode)) delete headers['retry-after'];
      reply.headers(headers);
      const expiresAt = request.admission?.principal?.expiresAt;
      if (expiresAt !== undefined && expiresAt.getTime() - clock().getTime() <= EXPIRY_ANNOUNCED_MS) {
        reply.header('x-api-key-expires', expiresAt.toUTCString());
      }
      done();
    });
  },
  { name: 'admission', dependencies: ['responses'] },
);

/** What the admissions of all requests share. */
interface AdmissionControl extends AdmissionOptions {
  readonly mayLookUp: ReturnType<typeof createLookUpBound>;
}

/**
 * The admission of one request, and what it found out. Refusals are returned, not thrown: most go to callers who send too
 * much, and throwing takes some microseconds.
 */
class Admission {
  /** The owner of the key, if the request has one that is known. */
  principal: ApiKeyPrincipal | undefined;
  /** The subject for which the request counts: its key if the key is known, otherwise its address. */
  subject: Subject;
  /** The limits that the response shows: the decision on the request. */
  limits: { readonly source: HeaderSource; readonly readAtMs: number } | undefined;
  /** Gives back what the request has acquired of {@link RequestsInFlight}. */
  release = () => {};
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #control: AdmissionControl;
  readonly #malformation: ApiError | undefined;
  readonly #cost: number;
  readonly #identity: Authentication | KeyLookUp;

  constructor(request: FastifyRequest, reply: FastifyReply, control: AdmissionControl) {
    this.#request = request;
    this.#reply = reply;
    this.#control = control;
    this.#malformation = malformationOf(request);
    // What is malformed has no route that says what it costs.
    this.#cost = this.#malformation === undefined ? costOf(request) : 1;
    this.#identity = control.needsKey
      ? control.authenticator.identify(request.headers.authorization)
      : { type: 'missing' };
    this.principal = principalIn(this.#identity);
    this.subject = this.#findSubject();
  }

  /**
   * The order of the checks: what is malformed, what the caller has in flight, its key, its limit, its expectation. Path,
   * method and scope are checked by the routes, behind it.
   *
   * @returns why the request is refused; `undefined` if it is served
   */
  async decide(): Promise<ApiError | undefined> {
    const decision = this.#decideAsIfWellFormed();
    if (this.#malformation === undefined) return decision;
    // Nobody learns more from a malformed request than that it is malformed. It counts for its caller all the same.
    await decision.catch((error) => logFailure(this.#request, error));
    return this.#malformation;
  }

  async #decideAsIfWellFormed(): Promise<ApiError | undefined> {
    const { needsKey } = this.#control;
    return (
      this.#acquire(this.#identity) ??
      (needsKey ? await this.#judge(this.#identity) : undefined) ??
      refusalOfExpectation(this.#request)
    );
  }

  /** Counts the request among those that its caller has in flight, in place of what it has acquired before. */
  #acquire({ type }: Authentication | KeyLookUp): ApiError | undefined {
    this.release();
    const unknown: CallerKind = type === 'look-up' ? 'key being looked up' : 'no valid key';
    const kind = this.principal === undefined ? unknown : 'known key';
    const acquired = this.#control.requestsInFlight.acquire(this.subject.name, kind, this.#cost);
    if (typeof acquired === 'string') return refusalOf(acquired);
    this.release = acquired;
    whenClosed(this.#reply, acquired);
    return undefined;
  }

  #judge(identity: Authentication | KeyLookUp): Promise<ApiError | undefined> {
    switch (identity.type) {
      case 'authenticated':
        return this.#charge();
      case 'missing':
        return this.#refuseWithoutKey('missing_api_key');
      case 'invalid':
        return this.#refuseWithoutKey('invalid_api_key');
      case 'look-up':
        return this.#lookUp(identity);
      default:
        return identity satisfies never;
    }
  }

  async #lookUp({ knownPrincipal, lookUp }: KeyLookUp): Promise<ApiError | undefined> {
    if (knownPrincipal === undefined) {
      const { isStorageAvailable, limiter, mayLookUp } = this.#control;
      if (!isStorageAvailable()) return refusalOf('service_unavailable');
      const known = limiter.lastKnown(this.subject);
      if (known.outcome !== 'last known' && !mayLookUp(this.subject.name)) return this.#refuseAgain(known);
    }
    const found = await lookUp();
    // Until now the request was one of an address that many callers may share.
    this.principal = principalIn(found);
    this.subject = this.#findSubject();
    return this.#acquire(found) ?? this.#judge(found);
  }

  async #charge(): Promise<ApiError | undefined> {
    const fits = canFit(this.subject, this.#cost);
    const { outcome } = await this.#check(fits ? this.#cost : 1);
    if (outcome !== 'admitted') return refusalOf(REFUSAL_CODES[outcome]);
    return fits ? undefined : BATCH_TOO_LARGE;
  }

  async #refuseWithoutKey(reason: 'missing_api_key' | 'invalid_api_key'): Promise<ApiError> {
    if (!this.#control.isStorageAvailable()) return refusalOf('service_unavailable');
    const { outcome } = await this.#check(1);
    return refusalOf(outcome === 'admitted' ? reason : REFUSAL_CODES[outcome]);
  }

  /** Refuses a request by a refusal of its address that is in force, without asking Redis. */
  #refuseAgain(refusal: RateLimitRefusal): ApiError {
    this.#control.metrics.countRemembered(this.#limitedCaller(), refusal);
    this.#show(refusal);
    return refusalOf(REFUSAL_CODES[refusal.outcome]);
  }

  async #check(cost: number): Promise<RateLimitDecision> {
    const { limiter, metrics } = this.#control;
    const decision = await limiter.check(this.subject, cost);
    metrics.countDecision(this.#limitedCaller(), decision);
    this.#show(decision);
    if (decision.outcome === 'banned' && decision.isNew) {
      const until = new Date(decision.bannedUntilMs).toISOString();
      const { log } = this.#request;
      log.warn({ ...logFieldsOf(this.#request), banLevel: decision.level, until }, 'a key was banned');
    }
    return decision;
  }

  #show(source: HeaderSource): void {
    this.limits = { source, readAtMs: this.#control.monotonicNowMs() };
  }

  #findSubject(): Subject {
    return this.principal === undefined ? addressSubject(clientAddressOf(this.#request)) : subjectOf(this.principal);
  }

  #limitedCaller(): LimitedCaller {
    return this.principal?.plan.name ?? 'address';
  }
}

const isRefusalOfLimit = (code: ErrorCode | undefined): boolean =>
  code === REFUSAL_CODES.refused || code === REFUSAL_CODES.banned;

const principalIn = (identity: Authentication | KeyLookUp): ApiKeyPrincipal | undefined => {
  if (identity.type === 'authenticated') return identity.principal;
  return identity.type === 'look-up' ? identity.knownPrincipal : undefined;
};

/** The owner of the key of a request that was admitted. */
export function principalOf({ admission }: FastifyRequest): ApiKeyPrincipal {
  if (admission?.principal === undefined) throw new Error('An operation was called without a key.');
  return admission.principal;
}

/** One subject for each principal that the authenticator caches. A key whose plan changes gets another principal. */
const subjects = new WeakMap<ApiKeyPrincipal, Subject>();

function subjectOf(principal: ApiKeyPrincipal): Subject {
  const subject = subjects.get(principal) ?? apiKeySubject(principal.keyId, principal.plan);
  subjects.set(principal, subject);
  return subject;
}

function refusalOfExpectation({ headers, raw }: FastifyRequest): ApiError | undefined {
  const { expect = '100-continue' } = headers;
  return CONTINUE.test(expect) || raw.httpVersionMinor === 0 ? undefined : refusalOf('expectation_failed');
}
