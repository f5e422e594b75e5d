import type { Authentication, Authenticator } from '@petstore/api';
import { isInternal, type Principal } from '@petstore/domain';

/** How often the keys of subscriptions are looked up: a revocation takes effect within 5 s. */
const INTERVAL_MS = 4_000;

/** Looks the keys of subscriptions up from time to time, each once however many subscriptions it has. */
export class KeyWatch {
  readonly #authenticator: Pick<Authenticator, 'identifyAnew'>;
  /** By Authorization header, what to call when its key no longer holds. */
  readonly #watched = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(authenticator: Pick<Authenticator, 'identifyAnew'>) {
    this.#authenticator = authenticator;
  }

  /** @returns ends it */
  watch(authorization: string | undefined, principal: Principal | undefined, onInvalid: () => void): () => void {
    if (authorization === undefined || principal === undefined || !isInternal(principal)) return () => {};
    const watched = this.#watched.get(authorization) ?? new Set();
    this.#watched.set(authorization, watched.add(onInvalid));
    this.#timer ??= setInterval(() => this.#look(), INTERVAL_MS).unref();
    return () => {
      watched.delete(onInvalid);
      if (watched.size === 0 && this.#watched.get(authorization) === watched) this.#watched.delete(authorization);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #look(): void {
    for (const [authorization, watched] of this.#watched) {
      this.#authenticator.identifyAnew(authorization).then(
        (found) => {
          if (!holds(found)) for (const onInvalid of [...watched]) onInvalid();
        },
        () => {}, // while it cannot be looked up nothing changes
      );
    }
  }
}

const holds = (found: Authentication): boolean => found.type === 'authenticated' && isInternal(found.principal);
