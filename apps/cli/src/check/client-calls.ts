import {
  createPetstoreClient,
  type Order,
  type PetstoreClient,
  type PetstoreClientOptions,
  petstoreErrorOf,
} from '@petstore/client';
import { breaks, NotKeptError, NotSeenError, type Promised } from './findings.ts';
import { describeFailure, type Installation } from './installation.ts';
import { expectOutcome, GET_LIST, LIST_PATH, refusalBy, WRONG_KEY } from './requests.ts';

/** The service sends the first event at once. */
const FIRST_EVENT_MAX_MS = 5_000;
/** From here on JavaScript's numbers do not hold all integers. */
const INEXACT_MIN = 2n ** 53n;

/** What a client shows that calls the service with a key. */
export class ClientCalls {
  readonly #at: Installation;
  readonly #key: string;
  readonly #options: PetstoreClientOptions;
  readonly #client: PetstoreClient;
  #lastStatus: number | undefined;
  /** A listed order with an id or a petId that JavaScript's numbers do not hold. */
  #bigOrder: Order | undefined;

  constructor(at: Installation, key: string) {
    this.#at = at;
    this.#key = key;
    this.#options = {
      baseUrl: at.url,
      apiKey: key,
      maxRetries: 0,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        this.#lastStatus = response.status;
        return response;
      },
    };
    this.#client = createPetstoreClient(this.#options);
  }

  /** The first to look at: what else needs a key needs one that is accepted. */
  readonly accepted: Promised = {
    check: 'the key is accepted, and its limits are told',
    look: async () => {
      const limits = await through(this.#client.limits.current.query());
      const { headers } = await this.#at.ask(`HEAD ${LIST_PATH}`, { key: this.#key });
      const told = headers.get('x-ratelimit-limit');
      const [minute, day] = [`${limits?.minute.limit}`, `${limits?.day.limit}`];
      if (told === minute || told === day) return `${minute} requests a minute, ${day} a day`;
      throw breaks(`X-RateLimit-Limit is ${told}, for ${minute} requests a minute and ${day} a day`, 'headers');
    },
  };

  readonly others: readonly Promised[] = [
    { check: 'the list arrives whole, and parses', look: () => through(this.#readList()) },
    { check: 'ids above 2^53 keep all digits', look: () => through(this.#compareBigOrder()) },
    { check: 'the list says that nobody may keep it', look: () => this.#readCacheControl() },
    { check: 'the list is for nobody without a key', look: () => this.#readListAsOthers() },
    { check: 'an event arrives when it is sent', look: () => this.#awaitEvent() },
  ];

  async #readList(): Promise<string> {
    let count = 0;
    let lastId: bigint | undefined;
    for await (const order of this.#client.rest.listOrders()) {
      const { id = 0n, petId = 0n } = order;
      if (lastId !== undefined && id <= lastId) throw breaks(`order ${id} comes after order ${lastId}`, 'json');
      if ([id, petId].some((number) => number >= INEXACT_MIN || number <= -INEXACT_MIN)) this.#bigOrder ??= order;
      lastId = id;
      count++;
    }
    return `${count} orders`;
  }

  /** Compares an order of the list with the same one over tRPC, where ids are texts. */
  async #compareBigOrder(): Promise<string> {
    const { id: orderId, petId } = this.#bigOrder ?? {};
    if (orderId === undefined) throw new NotSeenError('no listed order has such an id or petId');
    const exact = await this.#client.orders.get.query({ orderId }).catch((error: unknown) => {
      if (petstoreErrorOf(error)?.code !== 'order_not_found') throw error;
    });
    if (exact?.petId === petId) return `order ${orderId}`;
    const instead = exact ? `has pet ${exact.petId}` : 'does not exist';
    throw breaks(`the list has order ${orderId} with pet ${petId}, and that order ${instead}`, 'json');
  }

  async #readCacheControl(): Promise<string> {
    const { headers } = await this.#at.ask(`HEAD ${LIST_PATH}`, { key: this.#key });
    const told = headers.get('cache-control');
    if (told === 'no-store') return told;
    throw breaks(`Cache-Control is ${told}, not no-store`, 'cache');
  }

  async #readListAsOthers(): Promise<string> {
    for (const key of [undefined, WRONG_KEY]) {
      const answer = await this.#at.ask(GET_LIST, { key });
      expectOutcome(answer, ['401 missing_api_key', '401 invalid_api_key'], 'cache');
    }
    return '401';
  }

  async #awaitEvent(): Promise<string> {
    const begun = new AbortController();
    const signal = AbortSignal.any([begun.signal, AbortSignal.timeout(FIRST_EVENT_MAX_MS)]);
    this.#lastStatus = undefined;
    try {
      // A client that has been refused for a time sends nothing until then.
      await createPetstoreClient(this.#options)
        .events({ onBegin: () => begun.abort(), signal })
        .next();
    } catch (error) {
      if (petstoreErrorOf(error)?.status === 403) throw new NotSeenError('only an internal key may follow events');
      if (petstoreErrorOf(error) !== undefined) throw failureOf(error);
      if (begun.signal.aborted) return 'at once';
      // The client repeats requests that were refused for a time, until it is ended.
      if (this.#lastStatus !== undefined && this.#lastStatus !== 200) throw refusalBy(`${this.#lastStatus}`);
      throw breaks(`nothing within ${FIRST_EVENT_MAX_MS / 1_000} s`, 'buffers');
    }
    return 'at once';
  }
}

/** Waits for calls of the client. @throws NotKeptError instead of its errors */
const through = <Value>(calls: Promise<Value>): Promise<Value> =>
  calls.catch((error: unknown) => {
    throw failureOf(error);
  });

function failureOf(error: unknown): unknown {
  const failure = petstoreErrorOf(error);
  if (failure === undefined) return error;
  const { status, code } = failure;
  if (status === undefined) return new NotKeptError(`no whole answer: ${describeFailure(failure)}`, { cause: error });
  return refusalBy(code === 'unexpected_response' ? `${status}` : `${status} ${code}`);
}
