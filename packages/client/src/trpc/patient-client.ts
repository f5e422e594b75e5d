import { TRPCClientError, type TRPCLink, type TRPCRequestOptions, TRPCUntypedClient } from '@trpc/client';
import type { CheckedOptions } from '../options.ts';
import { pause, untilAborted } from '../transport/clock.ts';
import { mayHaveRun, retryDelayMs } from '../transport/patient-fetch.ts';
import { traitsOf } from './procedures.ts';
import type { AppRouter } from './router.ts';
import { petstoreErrorOf, responseOf } from './trpc-errors.ts';

/**
 * tRPC's client with retries. Like calls over REST, and unlike tRPC's own, aborted calls reject at once with the reason of
 * the signal.
 */
export class PatientClient extends TRPCUntypedClient<AppRouter> {
  readonly #options: CheckedOptions;

  constructor(options: CheckedOptions, links: TRPCLink<AppRouter>[]) {
    super({ links });
    this.#options = options;
  }

  override query(path: string, input?: unknown, options: TRPCRequestOptions = {}): Promise<unknown> {
    const call = this.#repeat(() => super.query(path, input, options), path, input, options);
    return untilAborted(options.signal, call);
  }

  override mutation(path: string, input?: unknown, options: TRPCRequestOptions = {}): Promise<unknown> {
    const sent = traitsOf(path).takesKey ? withKey(input) : input; // every attempt has the same key
    const call = this.#repeat(() => super.mutation(path, sent, options), path, input, options);
    return untilAborted(options.signal, call);
  }

  /**
   * The `fetch` below retries a request that fails as a whole; single calls of a batch are retried here. If a retry after a
   * lost response finds that the transition was already made, the call succeeds.
   */
  async #repeat(send: () => Promise<unknown>, path: string, input: unknown, options: TRPCRequestOptions) {
    const { transition } = traitsOf(path);
    let mayBeDone = false;
    for (let attemptsMade = 1; ; attemptsMade++) {
      try {
        return await send();
      } catch (error) {
        const known = petstoreErrorOf(error);
        const response = error instanceof TRPCClientError ? responseOf(error.meta) : undefined;
        mayBeDone ||= response?.isAfterLoss === true;
        if (known && mayBeDone && known.code === transition?.doneCode) {
          return transition.resultOf && this.query(transition.resultOf, input, options);
        }
        const isOneOfBatch = response?.status === 207;
        const delayMs = known && isOneOfBatch ? retryDelayMs(known, attemptsMade, this.#options) : undefined;
        if (known === undefined || delayMs === undefined) throw error;
        mayBeDone ||= mayHaveRun(known);
        await pause(this.#options.clock, delayMs, options.signal);
      }
    }
  }
}

/** Adds an idempotency key, unless the caller gave one: the service executes a repeated call only once. */
function withKey(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input;
  const isKeyed = 'idempotencyKey' in input && input.idempotencyKey !== undefined;
  return isKeyed ? input : { ...input, idempotencyKey: newKey() };
}

/** 128 random bits. `crypto.randomUUID` is missing on pages without TLS. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
