import type { Authentication, Authenticator, KeyLookUp } from '@petstore/api';
import {
  ADDRESS_REQUESTS_IN_FLIGHT_MAX,
  type ApiKeyPrincipal,
  KEY_REQUESTS_IN_FLIGHT_MAX,
  limitsOfPlan,
} from '@petstore/domain';
import {
  type ApiKeySubject,
  apiKeySubject,
  type ClientAddressSubject,
  clientAddressSubject,
  type RateLimiter,
  type RateLimitRefusal,
  type RateLimitSubject,
} from '@petstore/rate-limit';
import type { LimitedCaller } from './app-options.ts';
import type { ClientAddress } from './edge/client-address.ts';
import type { Exchange } from './exchange.ts';
import { InFlightCounts, type LoadShedder } from './in-flight.ts';

/** Who sends a request, or why that was not found out. */
export type Caller =
  | Authentication
  /** Over its limit or banned, as far as this process knows; the request is refused without asking Redis. */
  | { readonly type: 'limited'; readonly caller: LimitedCaller; readonly refusal: RateLimitRefusal }
  /** Has as many requests in flight as it may (`rate_limit_exceeded`), or cannot be served now. */
  | {
      readonly type: 'unserved';
      readonly subject: RateLimitSubject;
      readonly code: 'rate_limit_exceeded' | 'overloaded' | 'service_unavailable';
    }
  /** The key could not be looked up. */
  | { readonly type: 'failed'; readonly subject: RateLimitSubject; readonly error: unknown };

export interface IdentificationOptions {
  readonly authenticator: Authenticator;
  readonly limiter: Pick<RateLimiter, 'recall'>;
  readonly clientAddress: ClientAddress;
  readonly load: LoadShedder;
  readonly isStorageAvailable: () => boolean;
}

/** Look-ups of unknown keys that an address over its limit may still cause. */
const LOOK_UPS_PER_SECOND = 5;
/** Addresses that may have such look-ups in the same second. */
const LOOK_UP_ADDRESSES_MAX = 10_000;

/** Finds out who sends a request, at no more cost than their address may cause, and under which subject it is counted. */
export class Identification {
  readonly #options: IdentificationOptions;
  /** Requests in flight, by key or address. */
  readonly #inFlight = new InFlightCounts();
  /** Made once for each principal that the authenticator keeps: a key whose plan changes becomes another. */
  readonly #subjects = new WeakMap<ApiKeyPrincipal, ApiKeySubject>();
  /** Look-ups of this second, by address. */
  readonly #lookUps = new Map<string, number>();
  #secondEndsAtMs = 0;

  constructor(options: IdentificationOptions) {
    this.#options = options;
  }

  /**
   * Identifies the caller, and counts the request among those that the caller has in flight.
   *
   * @param calls how many calls the request holds, all of which are in flight at once
   */
  identify(exchange: Exchange, calls: number): Caller | Promise<Caller> {
    const { authenticator, load } = this.#options;
    const identity = authenticator.identify(exchange.request.headers.authorization);
    const principal = identity.type === 'authenticated' ? identity.principal : undefined;
    if (load.isOverloaded)
      return { type: 'unserved', subject: this.#subjectOf(exchange, principal), code: 'overloaded' };
    if (identity.type === 'look-up') return this.#lookUp(exchange, identity, calls);
    if (principal !== undefined) exchange.principal = principal;
    return this.#refuseCrowd(exchange, principal, calls) ?? identity;
  }

  subjectOfKey(principal: ApiKeyPrincipal): ApiKeySubject {
    let subject = this.#subjects.get(principal);
    if (subject === undefined) {
      subject = apiKeySubject(principal.keyId, limitsOfPlan(principal.plan));
      this.#subjects.set(principal, subject);
    }
    return subject;
  }

  subjectOfAddress({ request }: Exchange): ClientAddressSubject {
    return clientAddressSubject(this.#options.clientAddress(request));
  }

  #subjectOf = (exchange: Exchange, principal: ApiKeyPrincipal | undefined): RateLimitSubject =>
    principal === undefined ? this.subjectOfAddress(exchange) : this.subjectOfKey(principal);

  async #lookUp(exchange: Exchange, { knownPrincipal, lookUp }: KeyLookUp, calls: number): Promise<Caller> {
    const refusal =
      this.#refuseCrowd(exchange, knownPrincipal, calls) ??
      (knownPrincipal === undefined ? this.#refuseLookUp(exchange) : undefined);
    if (refusal !== undefined) return refusal;
    try {
      const authentication = await lookUp();
      if (authentication.type !== 'authenticated') return authentication;
      exchange.principal = authentication.principal;
      // From here on it is counted for the key, not for an address which many may share.
      exchange.held.release();
      return this.#refuseCrowd(exchange, authentication.principal, calls) ?? authentication;
    } catch (error) {
      return { type: 'failed', subject: this.subjectOfAddress(exchange), error };
    }
  }

  /** @returns `undefined` where the caller may have more in flight. A batch that never fits is refused later */
  #refuseCrowd(exchange: Exchange, principal: ApiKeyPrincipal | undefined, calls: number): Caller | undefined {
    const subject = this.#subjectOf(exchange, principal);
    const max = principal === undefined ? ADDRESS_REQUESTS_IN_FLIGHT_MAX : KEY_REQUESTS_IN_FLIGHT_MAX;
    const count = principal === undefined || calls > max ? 1 : calls;
    if (exchange.held.take(this.#inFlight, subject.storageKey, count, max)) return undefined;
    return this.#recallRefusal(subject, principal) ?? { type: 'unserved', subject, code: 'rate_limit_exceeded' };
  }

  /** @returns `undefined` where a key that this process does not know may be looked up */
  #refuseLookUp(exchange: Exchange): Caller | undefined {
    const subject = this.subjectOfAddress(exchange);
    if (!this.#options.isStorageAvailable()) return { type: 'unserved', subject, code: 'service_unavailable' };
    const refusal = this.#recallRefusal(subject);
    return refusal !== undefined && !this.#mayLookUp(subject.storageKey) ? refusal : undefined;
  }

  #recallRefusal(subject: RateLimitSubject, principal?: ApiKeyPrincipal): Caller | undefined {
    const recalled = this.#options.limiter.recall(subject);
    if (recalled.outcome === 'recalled') return undefined;
    return { type: 'limited', caller: principal?.plan.name ?? 'address', refusal: recalled };
  }

  /**
   * Lets a few unknown keys of an address be looked up although it is over its limit: so a good key behind the same
   * address is admitted within a moment, and forged ones cost next to nothing.
   */
  #mayLookUp(address: string): boolean {
    const nowMs = performance.now();
    if (nowMs >= this.#secondEndsAtMs) {
      this.#lookUps.clear();
      this.#secondEndsAtMs = nowMs + 1_000;
    }
    const count = this.#lookUps.get(address) ?? 0;
    if (count >= LOOK_UPS_PER_SECOND || (count === 0 && this.#lookUps.size >= LOOK_UP_ADDRESSES_MAX)) return false;
    this.#lookUps.set(address, count + 1);
    return true;
  }
}
