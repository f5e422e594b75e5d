import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { type CallOptions, createPetstoreRestClient, type PetstoreRestClient, RateLimitError } from '../src/rest.ts';
import { startScriptedServer } from './support/scripted-server.ts';
import { createTestRestClient, type TestClientOptions } from './support/test-clients.ts';
import { TestClock } from './support/test-clock.ts';

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
  const server = await startScriptedServer((_, response) => {
    script[Math.min(arrivals++, script.length - 1)]?.(response);
    if (script[arrivals - 1] === silent) clock.timeOut();
  });
  const { timeoutMs } = clock;
  const client = createTestRestClient({ baseUrl: server.origin, apiKey: 'key', clock, timeoutMs, ...options });
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
