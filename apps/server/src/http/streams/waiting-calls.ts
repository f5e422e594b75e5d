import { type Authenticator, refusalOf, type Wait } from '@petstore/api';
import { KEY_WAITING_CALLS_MAX } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { principalOf } from '../admission.ts';
import { KeyedSemaphore } from '../concurrency.ts';
import { excludeFromDurations } from '../observe.ts';
import { signalOf } from '../responses.ts';

/** Calls that wait for something to happen: they take no room of requests in flight, and end when their caller leaves. */
export class WaitingCalls {
  readonly #authenticator: Pick<Authenticator, 'identify'>;
  readonly #max: number;
  readonly #ofKeys = new KeyedSemaphore();
  readonly #stopping = new AbortController();
  #count = 0;

  /** @param max how many calls may wait at once, of all callers together */
  constructor(authenticator: Pick<Authenticator, 'identify'>, max: number) {
    this.#authenticator = authenticator;
    this.#max = max;
  }

  /** The number of calls that wait. */
  get count(): number {
    return this.#count;
  }

  /** How a request may wait: no longer than its response takes. */
  waitOf(request: FastifyRequest, reply: FastifyReply): Wait {
    return async (durationMs, work) => {
      if (this.#stopping.signal.aborted || this.#count >= this.#max) return undefined;
      const release = this.#ofKeys.tryAcquire(principalOf(request).keyId, 1, KEY_WAITING_CALLS_MAX);
      if (release === undefined) return undefined;
      this.#count++;
      request.admission?.release();
      excludeFromDurations(reply);
      const over = new AbortController();
      const timer = setTimeout(() => over.abort(), durationMs);
      try {
        return await work(AbortSignal.any([over.signal, signalOf(reply), this.#stopping.signal]));
      } finally {
        clearTimeout(timer);
        this.#count--;
        release();
        await this.#requireKey(request);
      }
    };
  }

  /** Ends all waits, and lets nobody wait any more. */
  close(): void {
    this.#stopping.abort();
  }

  /** @throws ApiError `invalid_api_key` if the key has been revoked, or has expired, since the request was admitted */
  async #requireKey({ headers }: FastifyRequest): Promise<void> {
    const identity = this.#authenticator.identify(headers.authorization);
    const found = identity.type === 'look-up' ? await identity.lookUp() : identity;
    if (found.type !== 'authenticated') throw refusalOf('invalid_api_key');
  }
}
