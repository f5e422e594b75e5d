import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHttpServer } from '@petstore/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CallOptions, ConnectionError, PetstoreError, RateLimitError, TimeoutError } from '../src/rest.ts';
import { systemClock } from '../src/transport/clock.ts';
import { retryDelayMs } from '../src/transport/retries.ts';
import { ServiceResponse } from '../src/transport/service-response.ts';
import { createTestRestClient, type TestClientOptions, TestClock } from './support/test-clients.ts';

type Answering = (response: ServerResponse, request: IncomingMessage) => void;

/** Responds with a status and the service's Error object, or with none where it is 2xx. */
const answering =
  (status: number, headers: Record<string, string> = {}, code = 'some_code'): Answering =>
  (response) => {
    const body = status < 300 ? '' : JSON.stringify({ code, message: 'A message.', status });
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
const destroying: Answering = (response) => response.socket?.destroy();

/** A client of a server that responds by a script, the last line of it again and again. */
async function startScript(
  script: readonly Answering[],
  options: Partial<TestClientOptions> = {},
  clock = new TestClock(),
) {
  const arrivals: number[] = [];
  const server = await startHttpServer((request, response) => {
    const answer = script[Math.min(arrivals.length, script.length - 1)];
    arrivals.push(clock.now());
    answer?.(response, request);
  });
  const client = createTestRestClient({ baseUrl: server.origin, apiKey: 'key', clock, ...options });
  return {
    client,
    arrivals,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A client by a clock that is held, whose requests get a list that the test sends, piece by piece. */
function startList(options: Partial<TestClientOptions>) {
  const clock = new TestClock().hold();
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const client = createTestRestClient({
    baseUrl: 'http://petstore.example.com',
    apiKey: 'key',
    maxRetries: 0,
    clock,
    fetch: async () =>
      new Response(
        new ReadableStream({
          start(controller) {
            stream = controller;
          },
          cancel() {
            stream = undefined;
          },
        }),
      ),
    ...options,
  });
  return {
    client,
    clock,
    /** Whether the client still reads. */
    isOpen: () => stream !== undefined,
    send(text: string, end?: 'end') {
      stream?.enqueue(new TextEncoder().encode(text));
      if (end === 'end') stream?.close();
    },
  };
}

const sleepBy = (clock: TestClock, delayMs: number) =>
  new Promise<void>((resolve) => void clock.schedule(resolve, delayMs));

async function failureOf(call: Promise<unknown>): Promise<PetstoreError> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome.status === 'rejected') return outcome.reason;
  throw new Error('The call did not fail.');
}

describe('a failed attempt', () => {
  test.each([408, 429, 500, 502, 503, 504])('with status %i is repeated, twice at most', async (status) => {
    await using script = await startScript([answering(status)]);
    expect(await failureOf(script.client.cancelOrder({ orderId: 1n }))).toMatchObject({ status, code: 'some_code' });
    expect(script.arrivals).toHaveLength(3);
  });

  test('with a status that no repetition changes is not repeated', async () => {
    for (const status of [400, 401, 403, 404, 405, 409, 410, 413, 415, 431, 501, 505]) {
      await using script = await startScript([answering(status)]);
      expect(await failureOf(script.client.cancelOrder({ orderId: 1n }))).toMatchObject({ status });
      expect(script.arrivals).toHaveLength(1);
    }
  });

  test('without a response is repeated', async () => {
    await using script = await startScript([destroying, destroying, answering(204)]);
    await script.client.cancelOrder({ orderId: 1n });
    expect(script.arrivals).toHaveLength(3);
  });

  test('of a list is repeated, as long as nothing of the list was given', async () => {
    const list: Answering = (response) => response.writeHead(200).end('[{"id":1},{"id":2}]');
    const half: Answering = (response) => {
      response.writeHead(200);
      response.write('[{"id":1},{"i', () => destroying(response, response.req));
    };
    await using script = await startScript([answering(503), half, list]);
    expect(await script.client.listOrders().toArray()).toEqual([{ id: 1n }, { id: 2n }]);
    expect(script.arrivals).toHaveLength(3);

    await using other = await startScript([answering(503), half, list]);
    const given: unknown[] = [];
    const read = async () => {
      for await (const order of other.client.listOrders()) given.push(order);
    };
    expect(await failureOf(read())).toBeInstanceOf(ConnectionError);
    expect(given).toEqual([{ id: 1n }]);
    expect(other.arrivals).toHaveLength(2);
  });

  test('is repeated as often as the client or the call says', async () => {
    await using never = await startScript([answering(500)], { maxRetries: 0 });
    await failureOf(never.client.cancelOrder({ orderId: 1n }));
    expect(never.arrivals).toHaveLength(1);
    await failureOf(never.client.cancelOrder({ orderId: 1n }, { maxRetries: 3 }));
    expect(never.arrivals).toHaveLength(5);
  });
});

describe('the wait before the next attempt', () => {
  const error = (status: number, retryAfterSeconds?: number) =>
    new PetstoreError('', { code: 'unexpected_response', status, retryAfterSeconds });
  const policy = { maxRetries: 10, maxRetryAfterSeconds: 60 };

  test('is from half to all of 0.5 s, doubling to 8 s', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, r) => {
          const wholeMs = Math.min(500 * 2 ** (n - 1), 8_000);
          const delayMs = retryDelayMs(error(500), n, policy, r);
          expect(delayMs).toBeGreaterThanOrEqual(wholeMs / 2);
          expect(delayMs).toBeLessThanOrEqual(wholeMs);
          expect(delayMs).toBeCloseTo(wholeMs * (0.5 + r / 2));
        },
      ),
    );
  });

  test('is as long as the service asks for, where that is longer', () => {
    expect(retryDelayMs(error(429, 7), 1, policy, 0.999)).toBe(7_000);
    expect(retryDelayMs(error(503, 60), 1, policy, 0.999)).toBe(60_000);
    expect(retryDelayMs(error(503, 0), 1, policy, 0.999)).toBeGreaterThan(400);
    expect(retryDelayMs(error(503, 61), 1, policy, 0.999)).toBeUndefined();
  });

  test('that is too long is not begun: the call fails at once, and says how long', async () => {
    await using script = await startScript([answering(429, { 'retry-after': '66' }, 'rate_limit_exceeded')]);
    const failure = await failureOf(script.client.cancelOrder({ orderId: 1n }));
    expect(failure).toBeInstanceOf(RateLimitError);
    expect(failure).toMatchObject({ code: 'rate_limit_exceeded', status: 429, retryAfterSeconds: 66 });
    expect(script.arrivals).toHaveLength(1);
  });

  test('that is too long refuses the next call too, unsent and with the same code', async () => {
    for (const code of ['api_key_banned', 'rate_limit_exceeded']) {
      await using script = await startScript([answering(429, { 'retry-after': '66' }, code)]);
      await failureOf(script.client.cancelOrder({ orderId: 1n }));
      const failure = await failureOf(script.client.cancelOrder({ orderId: 1n }));
      expect(failure).toBeInstanceOf(RateLimitError);
      expect(failure).toMatchObject({ code, status: 429, retryAfterSeconds: 66 });
      expect(script.arrivals).toHaveLength(1);
    }
  });

  test('may be longer where the client says so', async () => {
    await using script = await startScript([answering(503, { 'retry-after': '90' }), answering(204)], {
      maxRetryAfterSeconds: 90,
    });
    await script.client.cancelOrder({ orderId: 1n });
    const [first = 0, second] = script.arrivals;
    expect(second).toBe(first + 90_000);
  });

  test('ends when the caller aborts', async () => {
    const clock = new TestClock().hold();
    await using script = await startScript([answering(503, { 'retry-after': '60' })], {}, clock);
    const abort = new AbortController();
    const call = script.client.cancelOrder({ orderId: 1n }, { signal: abort.signal });
    await expect.poll(() => clock.waitCount, { timeout: 20_000 }).toBe(1);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await failureOf(call)).toBe(reason);
    expect(script.arrivals).toHaveLength(1);
  });
});

describe('Retry-After', () => {
  const NOW = Date.parse('2026-11-20T12:00:00.500Z');
  const attempt = { wait: <Value>(receive: () => Promise<Value>) => receive(), end: () => {} };
  const readFrom = (headers: Record<string, string>) =>
    new ServiceResponse(new Response(null, { headers }), attempt, NOW).retryAfterSeconds;
  const read = (retryAfter: string, date?: string) =>
    readFrom({ 'retry-after': retryAfter, ...(date !== undefined && { date }) });

  test.each([
    ['0', 0],
    ['120', 120],
    [' 7 ', 7],
    ['Fri, 20 Nov 2026 12:00:10 GMT', 10],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['-1', undefined],
    ['1.5', undefined],
    ['', undefined],
    ['soon', undefined],
    ['2026-11-20T12:00:10Z', undefined],
  ])('%j is read as %j seconds', (text, seconds) => {
    expect(read(text)).toBe(seconds);
  });

  test('as a date counts from the date of the response, whatever the client takes for the time', () => {
    expect(read('Thu, 01 Jan 2026 00:00:30 GMT', 'Thu, 01 Jan 2026 00:00:00 GMT')).toBe(30);
  });

  test('that is missing says nothing', () => {
    expect(readFrom({})).toBeUndefined();
  });
});

describe('an attempt', () => {
  test('that takes too long is ended and repeated, and in the end a TimeoutError', async () => {
    const clock = new TestClock();
    await using script = await startScript([() => clock.timeOut()], {}, clock);
    const failure = await failureOf(script.client.cancelOrder({ orderId: 1n }));
    expect(failure).toBeInstanceOf(TimeoutError);
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({ code: 'timed_out', status: undefined });
    expect(failure.message).toContain(`${clock.timeoutMs} ms`);
    expect(script.arrivals).toHaveLength(3);
  });

  test('has to give its whole response in time', async () => {
    const begun: Answering = (response) => response.writeHead(200).write('{"id":');
    const clock = new TestClock();
    const timingOut: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      setImmediate(() => clock.timeOut()); // by then the rest is waited for
      return response;
    };
    await using script = await startScript([begun], { fetch: timingOut }, clock);
    expect(await failureOf(script.client.getPetById({ petId: 1n }))).toBeInstanceOf(TimeoutError);
    expect(script.arrivals).toHaveLength(3);
  });

  test('of a list has the time for each piece', async () => {
    const list = startList({ timeoutMs: 2_500 });
    const orders = list.client.listOrders().toArray();
    for (const id of Array.from({ length: 10 }).keys()) {
      await list.clock.runUntil(list.clock.now() + 2_000);
      list.send(`${id === 0 ? '[' : ','}{"id":${id}}`);
    }
    list.send(']', 'end');
    expect(await orders).toHaveLength(10);

    const stalled = failureOf(list.client.listOrders().toArray());
    await list.clock.runUntil(list.clock.now() + 2_000);
    list.send('[{"id":1},{');
    await list.clock.runUntil(list.clock.now() + 2_499);
    expect(list.isOpen()).toBe(true);
    await list.clock.runUntil(list.clock.now() + 1);
    expect(await stalled).toBeInstanceOf(TimeoutError);
    expect(list.isOpen()).toBe(false);
  });

  test('ends when it is aborted or too long, also where the runtime would read on for ever, and leaves no timer', async () => {
    const body = () => new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('[{"id":1}')) });
    const clock = new TestClock();
    const fetchEndless: typeof fetch = async () => new Response(body());
    const options = { baseUrl: 'http://127.0.0.1:1', apiKey: 'key', fetch: fetchEndless, maxRetries: 0 };
    const client = createTestRestClient({ ...options, clock });
    const iterate = async (options: CallOptions) => {
      for await (const { id } of client.listOrders(options)) expect(id).toBe(1n);
    };
    for (const read of [iterate, (options: CallOptions) => client.listOrders(options).toArray()]) {
      const abort = new AbortController();
      setTimeout(() => abort.abort(new Error('left')), 20);
      await expect(read({ signal: abort.signal })).rejects.toThrow('left');
      expect(clock.scheduledCount).toBe(0);
      await expect(read({ timeoutMs: 20 })).rejects.toThrow(TimeoutError);
      expect(clock.scheduledCount).toBe(0);
    }
  });

  test('of a list leaves its reader the time that it takes', async () => {
    const list = startList({ timeoutMs: 2_000 });
    const ids: unknown[] = [];
    const reading = (async () => {
      for await (const { id } of list.client.listOrders()) {
        ids.push(id);
        if (id === 0n) await sleepBy(list.clock, 600_000);
      }
    })();
    await list.clock.runUntil(list.clock.now() + 1_000);
    list.send('[{"id":0},{"id":1}');
    await list.clock.runUntil(list.clock.now() + 300_000);
    expect(ids).toEqual([0n]);
    list.send(',{"id":2}]', 'end');
    await list.clock.runUntil(list.clock.now() + 301_000);
    await reading;
    expect(ids).toEqual([0n, 1n, 2n]);
  });
});

describe('the clock', () => {
  test('makes no call early', async () => {
    for (let i = 0; i < 40; i++) {
      const dueMs = systemClock.now() + 2.5;
      const calledMs = await new Promise<number>((resolve) => {
        systemClock.schedule(() => resolve(systemClock.now()), 2.5);
      });
      expect(calledMs).toBeGreaterThanOrEqual(dueMs);
    }
  });

  test('does not call who has cancelled', async () => {
    let calls = 0;
    const cancel = systemClock.schedule(() => calls++, 5);
    systemClock.schedule(() => calls++, 30 * 86_400_000)();
    cancel();
    await sleep(20);
    expect(calls).toBe(0);
  });

  test.each([30 * 86_400_000, Number.POSITIVE_INFINITY])(
    'takes no wait that is longer than a timer can for none: %d ms',
    async (delayMs) => {
      let calls = 0;
      const cancel = systemClock.schedule(() => calls++, delayMs);
      await sleep(20);
      cancel();
      expect(calls).toBe(0);
    },
  );
});
