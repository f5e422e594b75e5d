import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { startHttpServer } from '@petstore/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CallOptions,
  createPetstoreRestClient,
  PetstoreError,
  type PetstoreRestClient,
  RateLimitError,
} from '../src/rest.ts';
import { createTestRestClient, type TestClientOptions, TestClock } from './support/test-clients.ts';

/** One of all the things that may come back for a request. */
interface ScriptedAnswer {
  readonly status: number;
  readonly retryAfter: { readonly form: 'seconds' | 'date' | 'nonsense' | 'none'; readonly seconds: number };
  readonly body: string;
  readonly fate: 'whole' | 'destroyed-before' | 'destroyed-after-head' | 'no-response';
}

/** Those that matter more often. */
const STATUSES = [200, 204, 304, 400, 401, 404, 408, 409, 410, 418, 429, 429, 429, 500, 502, 503, 503, 504, 599];

const scriptedAnswer = fc.record({
  status: fc.constantFrom(...STATUSES),
  retryAfter: fc.record({
    form: fc.constantFrom('seconds', 'date', 'nonsense', 'none'),
    seconds: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 10_000_000 })),
  }),
  body: fc.constantFrom(
    '[]',
    '[{"id":1},{"id":9223372036854775807}]',
    '{"id":1,"name":"Rex"}',
    '{"code":"order_already_cancelled","message":"m","status":409}',
    '{"code":"rate_limit_exceeded","message":"m","status":429}',
    '<html>',
    '[{"id":',
    '',
  ),
  fate: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'destroyed-before', 'destroyed-after-head', 'no-response'),
}) satisfies fc.Arbitrary<ScriptedAnswer>;

const CALLS = {
  toArray: (client) => client.listOrders().toArray(),
  iterate: async (client) => {
    for await (const _ of client.listOrders()) if (_ === undefined) break;
  },
  cancelOrder: (client) => client.cancelOrder({ orderId: 5n }),
  getPetById: (client) => client.getPetById({ petId: 5n }),
} satisfies Record<string, (client: PetstoreRestClient) => Promise<unknown>>;

const RETRY_AFTER_MAX_SECONDS = 60;
const RETRYABLE = [408, 429, 500, 502, 503, 504];

/** A longer run is `PETSTORE_PROPERTY_RUNS=20000`. */
const RUNS = Math.ceil(Number(process.env['PETSTORE_PROPERTY_RUNS'] || 120) / 2);

describe('whatever the server responds, a call', () => {
  test('stays within its budget, never comes back earlier than announced, and ends', {
    timeout: 60_000 + RUNS * 1_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(scriptedAnswer, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...(Object.keys(CALLS) as (keyof typeof CALLS)[])), // its own keys
        fc.integer({ min: 0, max: 4 }),
        playScript,
      ),
      { numRuns: RUNS },
    );
  });
});

async function playScript(script: readonly ScriptedAnswer[], name: keyof typeof CALLS, maxRetries: number) {
  const clock = new TestClock();
  /** When a request came, and from when on the next one may. */
  const log: { readonly arrivedMs: number; readonly nextMs: number; readonly answer: ScriptedAnswer }[] = [];
  await using server = await startHttpServer((_, response) => {
    const answer = script[Math.min(log.length, script.length - 1)];
    if (answer === undefined) throw new Error('The script is empty.');
    const arrivedMs = clock.now();
    log.push({ arrivedMs, nextMs: send(answer, response, arrivedMs), answer });
    if (answer.fate === 'no-response') clock.timeOut();
  });
  const client = createTestRestClient({
    baseUrl: server.origin,
    apiKey: 'key',
    maxRetries,
    maxRetryAfterSeconds: RETRY_AFTER_MAX_SECONDS,
    clock,
  });
  const [outcome] = await Promise.allSettled([CALLS[name](client)]);
  if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(PetstoreError);
  expect(log.length).toBeGreaterThanOrEqual(1);
  expect(log.length).toBeLessThanOrEqual(1 + maxRetries);
  for (const [index, { arrivedMs, nextMs, answer }] of log.entries()) {
    const next = log[index + 1];
    if (next === undefined) continue;
    expect(next.arrivedMs).toBeGreaterThanOrEqual(nextMs);
    if (answer.fate === 'whole' && answer.status >= 300) expect(RETRYABLE).toContain(answer.status);
    expect(nextMs - arrivedMs).toBeLessThanOrEqual(RETRY_AFTER_MAX_SECONDS * 1_000);
  }
}

/** @returns from when on the client may come back, by the headers that it understands */
function send({ status, retryAfter, body, fate }: ScriptedAnswer, response: ServerResponse, nowMs: number): number {
  const { form, seconds } = retryAfter;
  const toldMs = { seconds: seconds * 1_000, date: seconds * 1_000, nonsense: 0, none: 0 }[form];
  switch (fate) {
    case 'no-response':
      return nowMs;
    case 'destroyed-before':
      response.socket?.destroy();
      return nowMs;
    default:
  }
  response.sendDate = false;
  // A date has no fractions of seconds, and is by the clock that the client has too.
  const date = new Date(Math.ceil(nowMs / 1_000) * 1_000 + toldMs);
  const text = { seconds: `${seconds}`, date: date.toUTCString(), nonsense: 'in a while', none: undefined }[form];
  if (text !== undefined) response.setHeader('retry-after', text);
  response.writeHead(status, { 'content-type': 'application/json' });
  if (fate === 'whole') response.end(body);
  else response.write(body === '' ? ' ' : body, () => response.socket?.destroy());
  // Without an error the header means nothing.
  return status < 400 ? nowMs : nowMs + toldMs;
}

type Answering = (response: ServerResponse) => void;

const cancelled: Answering = (response) => response.writeHead(204).end();
const list: Answering = (response) => response.writeHead(200).end('[{"id":1},{"id":2},{"id":3}]');
const missing: Answering = (response) =>
  response.writeHead(404).end('{"code":"order_not_found","message":"There is none.","status":404}');
const lost: Answering = (response) => response.socket?.destroy();
const silent: Answering = () => {};
const refused =
  (retryAfterSeconds: number): Answering =>
  (response) =>
    response
      .writeHead(429, { 'retry-after': `${retryAfterSeconds}` })
      .end('{"code":"rate_limit_exceeded","message":"Too many.","status":429}');

/** A client by a clock that jumps, of a server that responds in turn, the last way again and again. */
async function start(script: readonly Answering[], options: Partial<TestClientOptions> = {}) {
  const clock = new TestClock();
  let arrivals = 0;
  const server = await startHttpServer((_, response) => {
    script[Math.min(arrivals++, script.length - 1)]?.(response);
    if (script[arrivals - 1] === silent) clock.timeOut();
  });
  const client = createTestRestClient({ baseUrl: server.origin, apiKey: 'key', clock, ...options });
  return {
    client,
    clock,
    arrivals: () => arrivals,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What a program would keep for as long as it runs, or what would keep it running. */
const leftBy = (clock: TestClock, signal: AbortSignal) => ({
  timers: clock.scheduledCount,
  listeners: getEventListeners(signal, 'abort').length,
});
const NOTHING = { timers: 0, listeners: 0 };

describe('nothing is left of a call', () => {
  const cancel = (client: PetstoreRestClient, options: CallOptions) => client.cancelOrder({ orderId: 1n }, options);
  const readAll = (client: PetstoreRestClient, options: CallOptions) => client.listOrders(options).toArray();
  const readOne = async (client: PetstoreRestClient, options: CallOptions) => {
    for await (const _ of client.listOrders(options)) break;
  };

  test.each([
    ['succeeds', [cancelled], cancel, 'fulfilled'],
    ['gets an error', [missing], cancel, 'rejected'],
    ['loses its connection, each time', [lost], cancel, 'rejected'],
    ['takes too long, and succeeds the second time', [silent, cancelled], cancel, 'fulfilled'],
    ['is refused, waits and succeeds', [refused(20), cancelled], cancel, 'fulfilled'],
    ['is refused for longer than it would wait', [refused(120)], cancel, 'rejected'],
    ['reads a whole list', [list], readAll, 'fulfilled'],
    ['reads the beginning of a list', [list], readOne, 'fulfilled'],
    ['loses a list before it begins', [lost, list], readAll, 'fulfilled'],
  ] as const)('that %s', async (_, script, call, status) => {
    await using server = await start(script);
    const { signal } = new AbortController();
    const [outcome] = await Promise.allSettled([call(server.client, { signal })]);
    expect(outcome.status).toBe(status);
    expect(leftBy(server.clock, signal)).toEqual(NOTHING);
  });
});

test('one signal may be given to many calls at once: nothing warns, and no listener is left', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  const fetchMissing: typeof fetch = async () =>
    new Response('{"code":"order_not_found","message":"No."}', { status: 404 });
  const client = createPetstoreRestClient({ baseUrl: 'http://shop.example', apiKey: 'k', fetch: fetchMissing });
  const { signal } = new AbortController();
  await Promise.allSettled(Array.from({ length: 50 }, () => client.cancelOrder({ orderId: 1n }, { signal })));
  await new Promise((resolve) => setImmediate(resolve)); // warnings come after the tick
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

describe('a call that is aborted while it waits for its turn', () => {
  /** A client that was refused, and waits: its clock stands still. */
  async function startHeld(script: readonly Answering[], options: Partial<TestClientOptions> = {}) {
    const held = await start([refused(30), ...script], { maxRetries: 0, ...options });
    await expect(held.client.cancelOrder({ orderId: 1n })).rejects.toThrow(RateLimitError);
    held.clock.hold();
    return held;
  }

  test('leaves nothing, and those that come after it go in their turn', async () => {
    await using held = await startHeld([cancelled]);
    const abort = new AbortController();
    const call = held.client.cancelOrder({ orderId: 2n }, { signal: abort.signal });
    await expect.poll(() => held.clock.waitCount).toBe(1);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect.poll(() => leftBy(held.clock, abort.signal)).toEqual(NOTHING);
    expect(held.arrivals()).toBe(1);

    const next = [3n, 4n].map((orderId) => held.client.cancelOrder({ orderId }));
    held.clock.release();
    await expect.poll(held.arrivals, { timeout: 20_000 }).toBe(3);
    await Promise.all(next);
  });

  test('holds up no call behind it', async () => {
    await using held = await startHeld([cancelled]);
    const abort = new AbortController();
    const first = held.client.cancelOrder({ orderId: 2n }, { signal: abort.signal });
    const second = held.client.cancelOrder({ orderId: 3n });
    abort.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    held.clock.release();
    await expect.poll(held.arrivals, { timeout: 20_000 }).toBe(2);
    await second;
  });
});

test('calls that abort in the moment in which they may go keep no other from going', async () => {
  const client = createPetstoreRestClient({
    baseUrl: 'http://127.0.0.1:1',
    apiKey: 'k',
    fetch: async () => new Response(null, { status: 204 }),
  });
  // More than may be in flight, for each of the turns of the microtasks that a call takes to go.
  for (let i = 0; i < 2_400; i++) {
    const abort = new AbortController();
    const call = client.cancelOrder({ orderId: 1n }, { signal: abort.signal });
    for (let turn = 0; turn < i % 12; turn++) await Promise.resolve();
    abort.abort();
    await call.catch(() => {});
  }
  await client.cancelOrder({ orderId: 1n });
});
