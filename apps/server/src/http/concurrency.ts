import { ApiError, type ErrorCode, type Services } from '@petstore/api';
import {
  ADDRESS_REQUESTS_IN_FLIGHT_MAX,
  KEY_REQUESTS_IN_FLIGHT_MAX,
  KEY_SEARCHES_IN_FLIGHT_MAX,
} from '@petstore/domain';

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

/** The names under which all requests are counted; no key and no address has such a name. */
const ALL = 'all';
const ALL_WITHOUT_KEY = 'all without a key';

/** What callers have in flight of requests that were admitted: not what exists, or nobody's unread responses would count. */
export class RequestsInFlight {
  readonly #acquired = new KeyedSemaphore();
  readonly #max: number;
  readonly #maxWithoutKey: number;

  /**
   * @param max at once, of all callers together
   * @param maxWithoutKey how many of them may be of callers without a key that is known: they leave room for the others
   */
  constructor(max: number, maxWithoutKey: number) {
    this.#max = max;
    this.#maxWithoutKey = maxWithoutKey;
  }

  get count(): number {
    return this.#acquired.acquired(ALL);
  }

  /** @returns the code of the refusal if the caller, or all callers together, have the maximum in flight */
  acquire(name: string, hasKey: boolean, calls: number): Release | ErrorCode {
    const max = hasKey ? KEY_REQUESTS_IN_FLIGHT_MAX : ADDRESS_REQUESTS_IN_FLIGHT_MAX;
    // A batch that could never fit is refused later, as an invalid request.
    const ofCaller = this.#acquired.tryAcquire(name, hasKey && calls <= max ? calls : 1, max);
    if (ofCaller === undefined) return 'too_many_in_flight';
    const ofAll = this.#acquired.tryAcquire(ALL, 1, this.#max);
    const ofAllWithoutKey = hasKey ? () => {} : this.#acquired.tryAcquire(ALL_WITHOUT_KEY, 1, this.#maxWithoutKey);
    const release = () => {
      ofCaller();
      ofAll?.();
      ofAllWithoutKey?.();
    };
    if (ofAll !== undefined && ofAllWithoutKey !== undefined) return release;
    release();
    return 'overloaded';
  }
}

/** Bounds the searches that each key has in flight, so that those of one key do not hold up all others'. */
export function createSearchBound(): Services['beginSearch'] {
  const searches = new KeyedSemaphore();
  return (principal) => {
    if (principal.type !== 'api-key') return () => {};
    const release = searches.tryAcquire(principal.keyId, 1, KEY_SEARCHES_IN_FLIGHT_MAX);
    if (release === undefined) throw new ApiError('too_many_in_flight');
    return release;
  };
}
