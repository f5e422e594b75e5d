import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS, type TestKey } from '@petstore/server/test-support/database';

export interface TrafficOptions {
  /** How many requests are sent in a second. @default 60 */
  readonly rate?: number;
  /** Whether lists are read, which takes long if there are many orders. @default true */
  readonly hasLists?: boolean;
  /** A key that sends more requests than its plan allows. @default none */
  readonly busyKey?: TestKey | undefined;
}

/** One request in so many looks up a pet, which is a deprecated operation. */
const ONE_IN_PETS = 20;

const bearer = (key: TestKey) => ({ authorization: `Bearer ${key.text}` });
const tRpcInput = (input: Record<string, unknown>, bigints: readonly string[]) =>
  JSON.stringify({ json: input, meta: { values: Object.fromEntries(bigints.map((name) => [name, ['bigint']])) } });

/**
 * Requests such as callers send, in turn: lists, pages, single orders and changes of them, over REST and tRPC, with the
 * usual errors.
 */
const REQUESTS = [
  (url: string) => fetch(`${url}/v1/store/orders`, { headers: bearer(KEYS.unlimited) }),
  (url: string) => fetch(`${url}/v2/store/orders?limit=5`, { headers: bearer(KEYS.unlimited) }),
  (url: string, i: number) => fetch(`${url}/v2/store/orders/${(i % 20) + 1}`, { headers: bearer(KEYS.unlimited) }),
  (url: string) =>
    fetch(`${url}/trpc/orders.place`, {
      method: 'POST',
      headers: { ...bearer(KEYS.internal), 'content-type': 'application/json' },
      body: tRpcInput({ petId: '7', quantity: 1 }, ['petId']),
    }),
  (url: string, i: number) =>
    fetch(`${url}/v1/store/orders/${(i % 2_000) + 1}`, { method: 'DELETE', headers: bearer(KEYS.unlimited) }),
  (url: string, i: number) => {
    const input = encodeURIComponent(tRpcInput({ orderId: String((i % 20) + 1) }, ['orderId']));
    return fetch(`${url}/trpc/orders.get?input=${input}`, { headers: bearer(KEYS.internal) });
  },
  (url: string) => fetch(`${url}/v1/nothing`, { headers: bearer(KEYS.unlimited) }),
];

/** Sends requests of all kinds to a server, whether they succeed or fail, until it is disposed of. */
export function startTraffic(
  url: string,
  { rate = 60, hasLists = true, busyKey }: TrafficOptions = {},
): AsyncDisposable {
  const stop = new AbortController();
  const pending = new Set<Promise<unknown>>();
  const send = (i: number): Promise<Response> => {
    if (i % ONE_IN_PETS === 0) return fetch(`${url}/v1/pets/1`, { headers: bearer(KEYS.unlimited) });
    if (i % 50 === 1) return fetch(`${url}/v1/store/orders`);
    if (i % 20 === 2 && busyKey !== undefined) return fetch(`${url}/v2/store/orders/1`, { headers: bearer(busyKey) });
    const kinds = hasLists ? REQUESTS : REQUESTS.slice(1);
    return (kinds[i % kinds.length] as (typeof REQUESTS)[number])(url, i); // within the array
  };
  const sending = (async () => {
    for (let i = 0; rate > 0 && !stop.signal.aborted; i++) {
      const request = send(i)
        .then((response) => response.arrayBuffer())
        .catch(() => {})
        .finally(() => pending.delete(request));
      pending.add(request);
      await sleep(1_000 / rate);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sending;
      await Promise.all(pending);
    },
  };
}
