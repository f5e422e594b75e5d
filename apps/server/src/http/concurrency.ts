import type { ErrorCode } from '@petstore/api';
import { ADDRESS_REQUESTS_IN_FLIGHT_MAX, KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';

/** Releases what was acquired. It has no effect when called again. */
export type Release = () => void;

/** A semaphore for each name: how much of something each caller has, up to a maximum. Nobody waits. */
export class KeyedSemaphore {
  readonly #acquired = new Map<string, number>();

  /** @returns `undefined`, with nothing acquired, if the name would then have more than `max` */
  tryAcquire(name: string, count: number, max: number): Release | undefined {
    const before = this.#acquired.get(name) ?? 0;
    if (before + count > max) return undefined;
    this.#acquired.set(name, before + count);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const left = this.acquired(name) - count;
      if (left > 0) this.#acquired.set(name, left);
      else this.#acquired.delete(name);
    };
  }

  /** How much a name has at present. */
  acquired(name: string): number {
    return this.#acquired.get(name) ?? 0;
  }
}

/** The names under which the requests of many callers are counted; no key and no address has such a name. */
const ALL = 'all';
const WITHOUT_KNOWN_KEY = 'all without a key that is known';
const WITHOUT_VALID_KEY = 'all whose key is missing or invalid';

/** What is known of the key of a caller: it has no valid key if the key is missing or invalid. */
export type CallerKind = 'known key' | 'key being looked up' | 'no valid key';

export interface RequestsInFlightBounds {
  /** At once, of all callers together. */
  readonly maxRequestsInFlight: number;
  /** How many of them may be of callers whose key is missing, invalid or being looked up: they leave room for the others. */
  readonly maxRequestsInFlightWithoutKey: number;
  /** How many of those are left to keys that are being looked up, which may be valid. */
  readonly requestsInFlightForLookUps: number;
}

/** What callers have in flight from their admission to the end of the response: requests that are refused count, too. */
export class RequestsInFlight {
  readonly #acquired = new KeyedSemaphore();
  readonly #bounds: RequestsInFlightBounds;

  constructor(bounds: RequestsInFlightBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#acquired.acquired(ALL);
  }

  /** @returns the code of the refusal if the caller, or all callers together, have the maximum in flight */
  acquire(name: string, kind: CallerKind, calls: number): Release | ErrorCode {
    const { maxRequestsInFlight, maxRequestsInFlightWithoutKey, requestsInFlightForLookUps } = this.#bounds;
    const max = kind === 'known key' ? KEY_REQUESTS_IN_FLIGHT_MAX : ADDRESS_REQUESTS_IN_FLIGHT_MAX;
    // A batch that could never fit is refused later, as an invalid request.
    const ofCaller = this.#acquired.tryAcquire(name, kind === 'known key' && calls <= max ? calls : 1, max);
    if (ofCaller === undefined) return 'too_many_in_flight';
    const releases = [ofCaller];
    const release = () => {
      for (const each of releases) each();
    };
    const fits = (all: string, maxOfAll: number): boolean => {
      const ofAll = this.#acquired.tryAcquire(all, 1, maxOfAll);
      if (ofAll !== undefined) releases.push(ofAll);
      return ofAll !== undefined;
    };
    const isAdmitted =
      fits(ALL, maxRequestsInFlight) &&
      (kind === 'known key' || fits(WITHOUT_KNOWN_KEY, maxRequestsInFlightWithoutKey)) &&
      (kind !== 'no valid key' || fits(WITHOUT_VALID_KEY, maxRequestsInFlightWithoutKey - requestsInFlightForLookUps));
    if (isAdmitted) return release;
    release();
    return 'overloaded';
  }
}
