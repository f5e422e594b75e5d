import { type TRPCClientError, type TRPCLink, type TRPCRequestOptions, TRPCUntypedClient } from '@trpc/client';
import type { Connection } from '../connection.ts';
import { createSharedPause, untilAborted } from '../transport/clock.ts';
import { withRetries } from '../transport/retries.ts';
import { traitsOf } from './procedures.ts';
import type { AppRouter } from './router.ts';
import { petstoreErrorOf, responseOf } from './trpc-errors.ts';

/** A retry after a lost response has found that the transition was already made. */
const ALREADY_DONE = Symbol('already done');

/**
 * tRPC's client with retries of each call by itself, also of one in a batch. Like calls over REST, and unlike tRPC's own,
 * aborted calls reject at once with the reason of the signal.
 */
export class RetryingClient extends TRPCUntypedClient<AppRouter> {
  readonly #connection: Connection;
  /** By what made the calls fail, which those of one request share. */
  readonly #waits = new WeakMap<object, ReturnType<typeof createSharedPause>>();

  constructor(connection: Connection, links: TRPCLink<AppRouter>[]) {
    super({ links });
    this.#connection = connection;
  }

  override query(path: string, input?: unknown, options: TRPCRequestOptions = {}): Promise<unknown> {
    return this.#retry(options, () => super.query(path, input, options));
  }

  override async mutation(path: string, input?: unknown, options: TRPCRequestOptions = {}): Promise<unknown> {
    const { repetition } = traitsOf(path);
    const sent = repetition?.type === 'idempotency-key' ? withKey(input) : input; // every attempt has the same key
    const transition = repetition?.type === 'transition' ? repetition : undefined;
    const outcome = await this.#retry(options, async (isAfterLoss) => {
      try {
        return await super.mutation(path, sent, options);
      } catch (error) {
        if (isAfterLoss && transition && petstoreErrorOf(error)?.code === transition.doneCode) return ALREADY_DONE;
        throw error;
      }
    });
    if (outcome !== ALREADY_DONE) return outcome;
    return transition?.resultOf && this.query(transition.resultOf, input, options);
  }

  #retry(options: TRPCRequestOptions, attempt: (isAfterLoss: boolean) => Promise<unknown>): Promise<unknown> {
    const { clock, random, options: policy } = this.#connection;
    // Calls that failed together go on in the same moment, and so become one batch again.
    const wait = (delayMs: number, error: unknown) => {
      const { meta, cause } = error as TRPCClientError<AppRouter>; // tRPC's client throws no other
      const failed = responseOf(meta) ?? cause ?? {};
      const join = this.#waits.get(failed) ?? createSharedPause(clock, delayMs);
      this.#waits.set(failed, join);
      return join(options.signal);
    };
    const call = withRetries({ ...policy, random, wait, failureOf: petstoreErrorOf }, attempt);
    return untilAborted(options.signal, call);
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
