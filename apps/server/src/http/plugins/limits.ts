import { ApiError } from '@petstore/api';
import { type ApiKeyPrincipal, FREE_CALLS_PER_MINUTE, KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';
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
import { type CountedDecision, type DecisionMetrics, type LimitedCaller, REFUSAL_CODES } from '../app-options.ts';
import { logFieldsOf } from '../log-fields.ts';
import { malformationOf } from '../malformed-requests.ts';
import { costOf, type RequestCost } from '../request-cost.ts';
import { refusalOf } from './errors.ts';

/** The source of a response's rate-limit headers, and its time. */
interface KnownLimits {
  readonly source: HeaderSource;
  /** Milliseconds since the epoch, by the clock of this process. */
  readonly learnedAtMs: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision on the request, or the status that was looked up for it. */
    knownLimits: KnownLimits | undefined;
    /** The status of the caller on admission, if it was looked up. */
    rateLimit: RateLimitSnapshot | undefined;
  }
}

export interface LimitsOptions {
  readonly limiter: RateLimiter;
  readonly decisions: DecisionMetrics;
  readonly isStorageAvailable: () => boolean;
  /** The clock, in milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** The decision on a call that is free. */
const ADMITTED: CountedDecision = { outcome: 'admitted' };
const BATCH_TOO_LARGE = new ApiError('invalid_request', 'The batch holds more calls than the limits of the key allow.');

/** Counts each request by its key or its address, refuses it if that is over its limit, and sets the rate-limit headers. */
export const limits = fp<LimitsOptions>(
  async (app, options) => {
    const { limiter, nowMs } = options;
    const counting = new Counting(options);
    app.decorateRequest('knownLimits', undefined);
    app.decorateRequest('rateLimit', undefined);

    app.addHook('onRequest', (request, reply, done) => {
      // The refusals of a tick are sent together: waking their clients once halves the cost of a refusal.
      const settle = (refusal?: Error) => (refusal === undefined ? done() : setImmediate(done, refusal));
      counting.judge(request, reply).then(settle, settle);
    });

    // The headers are set here because a response may take its time: no header may name a time that has passed.
    app.addHook('onSend', (request, reply, _payload, done) => {
      const { knownLimits } = request;
      if (knownLimits !== undefined) {
        reply.headers(rateLimitHeaders(knownLimits.source, nowMs() - knownLimits.learnedAtMs));
      } else {
        // The request was not refused by this limit, so the limit's Retry-After would be wrong.
        const { 'retry-after': _, ...headers } = rateLimitHeaders(limiter.lastKnown(request.subject));
        reply.headers(headers);
      }
      done();
    });
  },
  { name: 'limits', dependencies: ['subject', 'authentication'] },
);

/** Refusals are returned, not thrown: most go to callers who send too much, and throwing takes some microseconds. */
class Counting {
  readonly #options: LimitsOptions;
  /** Limits free calls of a key, in windows of this process alone. */
  readonly #freeCalls: InProcessLimiter;

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#freeCalls = new InProcessLimiter({ nowMs: options.nowMs });
  }

  /** @returns the error to refuse a request with; `undefined` if it is admitted */
  judge(request: FastifyRequest, reply: FastifyReply): Promise<ApiError | undefined> {
    const { caller } = request;
    const malformation = malformationOf(request);
    if (malformation !== undefined) return this.#count(request, 1).then(() => malformation);
    switch (caller?.type) {
      case 'authenticated':
        return this.#charge(request, reply, caller.principal);
      case 'missing':
        return this.#refuseWithoutKey(request, 'missing_api_key');
      case 'invalid':
        return this.#refuseWithoutKey(request, 'invalid_api_key');
      case 'limited':
        return Promise.resolve(this.#refuseRemembered(request, caller.refusal));
      case undefined:
        throw new Error('A request was to be counted before it was known who sent it.');
      default:
        return caller satisfies never;
    }
  }

  async #charge(
    request: FastifyRequest,
    reply: FastifyReply,
    principal: ApiKeyPrincipal,
  ): Promise<ApiError | undefined> {
    const cost = costOf(request);
    if (cost.calls > cost.charged) {
      const refusal = this.#countFreeCalls(request, reply, principal);
      if (refusal !== undefined) return refusal;
    }
    if (cost.charged === 0) return this.#peek(request);
    const fits = canFit(request.subject, cost);
    const { outcome } = await this.#count(request, fits ? cost.charged : 1);
    if (outcome !== 'admitted') return refusalOf(REFUSAL_CODES[outcome]);
    return fits ? undefined : BATCH_TOO_LARGE;
  }

  async #refuseWithoutKey(request: FastifyRequest, reason: 'missing_api_key' | 'invalid_api_key'): Promise<ApiError> {
    if (!this.#options.isStorageAvailable()) return refusalOf('service_unavailable');
    const { outcome } = await this.#count(request, 1);
    return outcome === 'admitted' ? refusalOf(reason) : refusalOf(REFUSAL_CODES[outcome]);
  }

  #refuseRemembered(request: FastifyRequest, refusal: RateLimitRefusal): ApiError {
    this.#options.decisions.countRemembered(limitedCallerOf(request), refusal);
    this.#tell(request, refusal);
    return refusalOf(REFUSAL_CODES[refusal.outcome]);
  }

  /** Refuses a key that is known to be banned, or has used up its free calls. */
  #countFreeCalls(
    request: FastifyRequest,
    reply: FastifyReply,
    { keyId, plan }: ApiKeyPrincipal,
  ): ApiError | undefined {
    const known = this.#options.limiter.lastKnown(request.subject);
    if (known.outcome !== 'last known') return this.#refuseRemembered(request, known);
    const decision = this.#freeCalls.check(oneWindow(keyId, FREE_CALLS_PER_MINUTE), 1);
    if (decision.outcome === 'admitted') return undefined;
    this.#options.decisions.countDecision(plan.name, decision);
    reply.header('retry-after', decision.retryAfterSeconds);
    return refusalOf('rate_limit_exceeded');
  }

  /** Looks the status of a key up once for its free calls, without charging the key. */
  async #peek(request: FastifyRequest): Promise<ApiError | undefined> {
    const snapshot = await this.#options.limiter.peek(request.subject);
    const ban = bannedDecisionOf(snapshot);
    this.#options.decisions.countDecision(limitedCallerOf(request), ban ?? ADMITTED);
    this.#tell(request, ban ?? snapshot);
    if (ban !== undefined) return refusalOf('api_key_banned');
    request.rateLimit = snapshot;
    return undefined;
  }

  async #count(request: FastifyRequest, cost: number): Promise<RateLimitDecision> {
    const decision = await this.#options.limiter.check(request.subject, cost);
    this.#options.decisions.countDecision(limitedCallerOf(request), decision);
    this.#tell(request, decision);
    if (decision.outcome === 'banned' && decision.isNew) {
      const until = new Date(decision.bannedUntilMs).toISOString();
      request.log.warn({ ...logFieldsOf(request), banLevel: decision.level, until }, 'a key was banned');
    }
    return decision;
  }

  #tell(request: FastifyRequest, source: HeaderSource): void {
    request.knownLimits = { source, learnedAtMs: this.#options.nowMs() };
  }
}

const limitedCallerOf = ({ principal }: FastifyRequest): LimitedCaller => principal?.plan.name ?? 'address';

/** A subject with one window, and never a ban. */
export const oneWindow = (name: string, perMinute: number): Subject => ({ name, perMinute, perDay: undefined });

const canFit = (subject: Subject, { calls, charged }: RequestCost): boolean =>
  calls === 1 || (canEverFit(subject, charged) && calls <= KEY_REQUESTS_IN_FLIGHT_MAX);
