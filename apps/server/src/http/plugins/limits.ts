import { ApiError } from '@petstore/api';
import { type ApiKeyPrincipal, FREE_CALLS_PER_MINUTE, KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';
import {
  bannedDecisionOf,
  canEverFit,
  type HeaderSource,
  type HeaderTarget,
  InProcessLimiter,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRefusal,
  type RateLimitSnapshot,
  type RateLimitSubject,
  writeRateLimitHeaders,
} from '@petstore/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { CountedDecision, DecisionMetrics, LimitedCaller } from '../app-options.ts';
import { logFieldsOf } from '../log-fields.ts';
import { malformationOf } from '../malformed-requests.ts';
import { costOf, type RequestCost } from '../request-cost.ts';
import { refusalOf } from './errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The status of its caller when it was admitted, if that was looked up. */
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

/** Of a call that is charged nothing. */
const ADMITTED: CountedDecision = { outcome: 'admitted' };
const BATCH_TOO_LARGE = new ApiError('invalid_request', 'The batch holds more calls than the limits of the key allow.');

/** Counts each request by its key or its address, refuses it if that is over its limit, and sets the rate-limit headers. */
export const limits = fp<LimitsOptions>(
  async (app, options) => {
    const { limiter } = options;
    const counting = new Counting(options);
    app.decorateRequest('rateLimit', undefined);

    app.addHook('onRequest', (request, reply, done) => {
      // The refusals of a tick are sent together: their clients are woken once, which halves what a refusal costs.
      const settle = (refusal?: Error) => (refusal === undefined ? done() : setImmediate(done, refusal));
      counting.judge(request, reply).then(settle, settle);
    });

    // A response to a request that was not counted shows the limit of its caller, too, as far as this process knows it.
    app.addHook('onSend', (request, reply, _payload, done) => {
      if (!reply.hasHeader('x-ratelimit-limit')) {
        // The request was not refused by this limit, so the limit's Retry-After would be wrong.
        const { 'retry-after': _, ...headers } = headersOf(limiter.recall(request.subject));
        reply.headers(headers);
      }
      done();
    });
  },
  { name: 'limits', dependencies: ['subject', 'authentication'] },
);

/** Refusals are returned, not thrown: most of them meet callers who send too much, and to throw costs some microseconds. */
class Counting {
  readonly #options: LimitsOptions;
  /** Bounds what takes nothing from the limits of a key, in windows of this process alone. */
  readonly #freeCalls: InProcessLimiter;

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#freeCalls = new InProcessLimiter({ nowMs: options.nowMs });
  }

  /** @returns why a request is refused; `undefined` if it goes on */
  judge(request: FastifyRequest, reply: FastifyReply): Promise<ApiError | undefined> {
    const { caller } = request;
    const malformation = malformationOf(request);
    if (malformation !== undefined) return this.#count(request, reply, 1).then(() => malformation);
    switch (caller?.type) {
      case 'authenticated':
        return this.#charge(request, reply, caller.principal);
      case 'missing':
        return this.#refuseWithoutKey(request, reply, 'missing_api_key');
      case 'invalid':
        return this.#refuseWithoutKey(request, reply, 'invalid_api_key');
      case 'limited':
        return Promise.resolve(this.#refuseRemembered(request, reply, caller.refusal));
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
    if (cost.charged === 0) return this.#peek(request, reply);
    const fits = canFit(request.subject, cost);
    const { outcome } = await this.#count(request, reply, fits ? cost.charged : 1);
    if (outcome !== 'admitted') return refusalOf(outcome);
    return fits ? undefined : BATCH_TOO_LARGE;
  }

  async #refuseWithoutKey(
    request: FastifyRequest,
    reply: FastifyReply,
    reason: 'missing_api_key' | 'invalid_api_key',
  ): Promise<ApiError> {
    if (!this.#options.isStorageAvailable()) return refusalOf('service_unavailable');
    const { outcome } = await this.#count(request, reply, 1);
    return refusalOf(outcome === 'admitted' ? reason : outcome);
  }

  #refuseRemembered(request: FastifyRequest, reply: FastifyReply, refusal: RateLimitRefusal): ApiError {
    this.#options.decisions.countRemembered(limitedCallerOf(request), refusal);
    reply.headers(headersOf(refusal));
    return refusalOf(refusal.outcome);
  }

  /** Refuses a key that is known to be banned, or has used up its window of free calls. */
  #countFreeCalls(
    request: FastifyRequest,
    reply: FastifyReply,
    { keyId, plan }: ApiKeyPrincipal,
  ): ApiError | undefined {
    const recalled = this.#options.limiter.recall(request.subject);
    if (recalled.outcome !== 'recalled') return this.#refuseRemembered(request, reply, recalled);
    const decision = this.#freeCalls.check(oneWindow(keyId, FREE_CALLS_PER_MINUTE), 1);
    if (decision.outcome === 'admitted') return undefined;
    this.#options.decisions.countDecision(plan.name, decision);
    reply.header('retry-after', decision.retryAfterSeconds);
    return refusalOf('rate_limit_exceeded');
  }

  /** The status of a key is looked up once for its free calls, and charged nothing. */
  async #peek(request: FastifyRequest, reply: FastifyReply): Promise<ApiError | undefined> {
    const snapshot = await this.#options.limiter.peek(request.subject);
    const ban = bannedDecisionOf(snapshot);
    this.#options.decisions.countDecision(limitedCallerOf(request), ban ?? ADMITTED);
    reply.headers(headersOf(ban ?? snapshot));
    if (ban !== undefined) return refusalOf(ban.outcome);
    request.rateLimit = snapshot;
    return undefined;
  }

  async #count(request: FastifyRequest, reply: FastifyReply, cost: number): Promise<RateLimitDecision> {
    const decision = await this.#options.limiter.check(request.subject, cost);
    this.#options.decisions.countDecision(limitedCallerOf(request), decision);
    reply.headers(headersOf(decision));
    if (decision.outcome === 'api_key_banned' && decision.isNew) {
      const until = new Date(decision.bannedUntilMs).toISOString();
      request.log.warn({ ...logFieldsOf(request), banLevel: decision.level, until }, 'a key was banned');
    }
    return decision;
  }
}

const limitedCallerOf = ({ principal }: FastifyRequest): LimitedCaller => principal?.plan.name ?? 'address';

export function headersOf(source: HeaderSource): Record<string, string | number> {
  const headers: HeaderTarget = {};
  writeRateLimitHeaders(headers, source);
  return headers as Record<string, string | number>; // it writes nothing else
}

/** A subject with one window, and never a ban: as that of an address. */
export const oneWindow = (storageKey: string, perMinute: number): RateLimitSubject => ({
  type: 'client-address',
  storageKey,
  perMinute,
  perDay: undefined,
});

const canFit = (subject: RateLimitSubject, { calls, charged }: RequestCost): boolean =>
  calls === 1 || (canEverFit(subject, charged) && calls <= KEY_REQUESTS_IN_FLIGHT_MAX);
