import { toTrpcEnvelope } from '@petstore/api';
import { PLANS, type RequestLimits } from '@petstore/domain';
import { canEverFit, InProcessLimiter, type RateLimitDecision, rateLimitHeaders } from '@petstore/rate-limit';
import { startHttpServer } from '@petstore/testing';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type PetstoreClient, petstoreErrorOf, transformer } from '../src/index.ts';
import { createTestClient, createTestRestClient, TestClock } from './support/test-clients.ts';

interface World {
  readonly limits: RequestLimits;
  readonly maxRetries: number;
  readonly maxRetryAfterSeconds: number;
  /** How long requests and responses travel, again and again. */
  readonly latenciesMs: readonly number[];
  /** Of how many requests one response is lost; 0: none. */
  readonly lossEvery: number;
  /** How much of the key's limits others used before, and how long before. */
  readonly usedBefore?: readonly { readonly cost: number; readonly agoMs: number }[];
  readonly seed: number;
}

/** The real limiter in front of a service that does nothing else, at the end of a wire; all by one clock. */
function createWorld({ limits, latenciesMs, lossEvery, usedBefore = [], seed, ...options }: World) {
  const clock = new TestClock().hold();
  const startMs = clock.now();
  let agoMs = 0;
  let hasRoom = true;
  const limiter = new InProcessLimiter({ nowMs: () => clock.now() - agoMs });
  const subjectOf = (plan: RequestLimits) => ({ name: 'key:abcd1234', ...plan });
  let subject = subjectOf(limits);
  for (const { cost, agoMs: ago } of usedBefore.toSorted((one, other) => other.agoMs - one.agoMs)) {
    agoMs = ago;
    for (let i = 0; i < cost && hasRoom; i++) {
      const { minute, day } = limiter.check(subject, 1);
      hasRoom = minute.remaining > 0 && day?.remaining !== 0;
    }
  }
  agoMs = 0;
  const seen = { requests: 0, admitted: 0, refused: 0, banned: 0 };
  let legs = 0;
  const travel = (then: () => void) => clock.schedule(then, latenciesMs[legs++ % latenciesMs.length] ?? 1);
  const random = fc.sample(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { numRuns: 97, seed });
  let draws = 0;

  /** As the service does on arrival: a batch that can never fit costs 1. */
  function admit(cost: number): RateLimitDecision {
    const decision = limiter.check(subject, canEverFit(subject, cost) ? cost : 1);
    seen.requests++;
    if (decision.outcome === 'admitted') seen.admitted += cost;
    else if (decision.outcome === 'banned') seen.banned++;
    else seen.refused++;
    return decision;
  }

  const fetch = (input: unknown, init?: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      const calls = callsOf(String(input));
      travel(() => {
        const decision = admit(calls ?? 1);
        const isLost = lossEvery > 0 && seen.requests % lossEvery === 0;
        const response = responseTo(decision, calls, canEverFit(subject, calls ?? 1));
        travel(() => (isLost ? reject(new TypeError('lost')) : resolve(response)));
      });
    });

  const client = createTestClient({
    baseUrl: 'http://petstore.example.com',
    apiKey: 'key',
    timeoutMs: 10_000,
    clock,
    fetch,
    random: () => random[draws++ % random.length] ?? 0,
    ...options,
  });
  const changePlan = (plan: RequestLimits) => {
    subject = subjectOf(plan);
  };
  return { clock, startMs, client, seen, changePlan };
}

/** How many calls a batch holds; `undefined` over REST. */
const callsOf = (url: string): number | undefined =>
  url.includes('/trpc/') ? new URL(url).pathname.split(',').length : undefined;

function responseTo(decision: RateLimitDecision, calls: number | undefined, canFit: boolean): Response {
  const headers = new Headers({ 'content-type': 'application/json' });
  for (const [name, value] of Object.entries(rateLimitHeaders(decision))) headers.set(name, String(value));
  if (decision.outcome !== 'admitted') {
    const code = decision.outcome === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
    return new Response(calls ? toTrpcEnvelope(code) : '{}', { status: 429, headers });
  }
  if (calls === undefined) return new Response(null, { status: 204, headers });
  if (!canFit) return new Response(toTrpcEnvelope('invalid_request'), { status: 400, headers });
  const pet = { result: { data: transformer.serialize({ id: 1n, name: 'Rex' }) } };
  return Response.json(
    Array.from({ length: calls }, () => pet),
    { headers },
  );
}

interface Program {
  /** How many calls it makes at a time over tRPC, 20 at most; 0: one over REST. */
  readonly batchSize: number;
  readonly pauseMs: number;
  readonly endMs: number;
}

/** A program that calls again and again, whatever comes of it. */
function hammer(client: PetstoreClient, clock: TestClock, { batchSize, pauseMs, endMs }: Program) {
  async function callOnce() {
    const calls =
      batchSize === 0
        ? [client.rest.cancelOrder({ orderId: 1n })]
        : Array.from({ length: batchSize }, () => client.pets.get.query({ petId: 1n }));
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === 'rejected' && petstoreErrorOf(outcome.reason) === undefined) throw outcome.reason;
    }
    if (clock.now() < endMs) clock.schedule(() => void callOnce(), pauseMs);
  }
  void callOnce();
}

const MINUTE_MS = 60_000;

const anyWorld = fc.record({
  limits: fc
    .record({ perMinute: fc.integer({ min: 1, max: 80 }), days: fc.integer({ min: 1, max: 5 }) })
    .map(({ perMinute, days }) => ({ perMinute, perDay: perMinute * days })),
  maxRetries: fc.integer({ min: 0, max: 4 }),
  maxRetryAfterSeconds: fc.constantFrom(0, 1, 10, 60, 60, 300, 100_000),
  latenciesMs: fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 7 }),
  lossEvery: fc.constantFrom(0, 0, 7, 20),
  usedBefore: fc.array(
    fc.record({ cost: fc.integer({ min: 1, max: 60 }), agoMs: fc.integer({ min: 0, max: 2 * MINUTE_MS }) }),
    { maxLength: 4 },
  ),
  seed: fc.integer(),
}) satisfies fc.Arbitrary<World>;

/** Programs that start at some time and hammer with some pause: many over REST, few over tRPC. */
const anyLoad = fc.array(
  fc.record({
    startMs: fc.integer({ min: 0, max: 4 * MINUTE_MS }),
    size: fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          programs: fc.integer({ min: 1, max: 4 }),
          batchSize: fc.constantFrom(0, 1, 3, 7, 20),
        }),
      },
      { weight: 4, arbitrary: fc.record({ programs: fc.integer({ min: 50, max: 200 }), batchSize: fc.constant(0) }) },
      { weight: 1, arbitrary: fc.record({ programs: fc.integer({ min: 320, max: 600 }), batchSize: fc.constant(0) }) },
    ),
    pauseMs: fc.oneof(fc.integer({ min: 50, max: 500 }), fc.integer({ min: 1_000, max: 100_000 })),
    lastsMs: fc.constantFrom(0, 5_000, 70_000, 3 * MINUTE_MS),
  }),
  { minLength: 1, maxLength: 4 },
);
type Load = typeof anyLoad extends fc.Arbitrary<infer Value> ? Value : never;

/** A longer run is `PETSTORE_PROPERTY_RUNS=20000`. */
const RUNS = Math.ceil(Number(process.env['PETSTORE_PROPERTY_RUNS'] || 120) / 16);

/** Most calls of a program with short pauses fail at once, without a request: more of them would only take time. */
const ROUNDS_MAX = 200;

/** What the service sees of a client that is driven so, in ten minutes. */
async function drive(options: World, programs: Load) {
  const { clock, startMs, client, seen } = createWorld(options);
  for (const { startMs: afterMs, size, lastsMs, ...program } of programs) {
    const { programs: count, batchSize } = size;
    const endMs = startMs + afterMs + Math.min(lastsMs, ROUNDS_MAX * program.pauseMs);
    clock.schedule(() => {
      for (let i = 0; i < count; i++) hammer(client, clock, { ...program, batchSize, endMs });
    }, afterMs);
  }
  await clock.runUntil(startMs + 10 * MINUTE_MS);
  return seen;
}

const QUIET = { maxRetries: 2, maxRetryAfterSeconds: 60, latenciesMs: [20, 35], lossEvery: 0, seed: 1 };

describe('a client', () => {
  // What tRPC defers to batch calls must happen before the virtual time goes on.
  const { stackTraceLimit } = Error;
  beforeEach(() => {
    Error.stackTraceLimit = 0; // hundreds of thousands of calls fail here, and no trace is read
    const { setTimeout } = globalThis;
    vi.stubGlobal('setTimeout', (callback: () => void, delayMs = 0) =>
      delayMs > 0 ? setTimeout(callback, delayMs) : setImmediate(callback),
    );
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    Error.stackTraceLimit = stackTraceLimit;
  });

  test('is never banned, however hard it is driven', { timeout: 60_000 + RUNS * 10_000 }, async () => {
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(anyWorld, anyLoad, async (options, programs) => {
        const seen = await drive(options, programs);
        expect(seen.banned).toBe(0);
        refusals += seen.refused;
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    // There was something to be banned for.
    expect(refusals).toBeGreaterThan(RUNS);
  });

  test('gets nearly all that its plan allows, when it asks for more', async () => {
    const { clock, startMs, client, seen } = createWorld({ ...QUIET, limits: PLANS.free.limits });
    const endMs = startMs + 10 * MINUTE_MS;
    for (let i = 0; i < 10; i++) hammer(client, clock, { batchSize: 0, pauseMs: 100, endMs });
    await clock.runUntil(endMs);
    expect(seen.banned).toBe(0);
    expect(seen.admitted).toBeGreaterThan(0.9 * 600);
    expect(seen.refused).toBeLessThan(100);
  });

  test('whose day is used up sends next to nothing, and goes on within minutes when it gets a larger plan', async () => {
    const limits = { perMinute: 60, perDay: 10 };
    const { clock, startMs, client, seen, changePlan } = createWorld({ ...QUIET, limits });
    hammer(client, clock, { batchSize: 0, pauseMs: 100, endMs: startMs + 20 * MINUTE_MS });
    await clock.runUntil(startMs + 10 * MINUTE_MS);
    expect(seen).toMatchObject({ admitted: 10, banned: 0 });
    expect(seen.refused).toBeLessThan(12);
    changePlan(PLANS.pro.limits);
    await clock.runUntil(startMs + 13 * MINUTE_MS);
    expect(seen.admitted).toBeGreaterThan(300);
  });
});

/**
 * A service that refuses the first list, because too much is in flight or because the limits are used up, as its code says.
 * The client has read the refusal, and waits: its clock is held.
 */
async function startCrowdedService(code: 'too_many_in_flight' | 'rate_limit_exceeded') {
  const requests: string[] = [];
  const server = await startHttpServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    if (requests.length === 1) {
      const headers = { 'retry-after': '1', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' };
      const body = { code, message: 'Too many requests.', status: 429 };
      response.writeHead(429, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
    } else if (method === 'DELETE') response.writeHead(204).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  });
  const clock = new TestClock();
  const client = createTestRestClient({ baseUrl: server.origin, apiKey: 'key', clock });
  clock.hold();
  const list = client.listOrders().toArray();
  await expect.poll(() => clock.waitCount, { timeout: 20_000 }).toBe(1);
  return { client, clock, list, requests, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('a list that was refused because of others in flight is requested again, and holds up no other call', async () => {
  await using service = await startCrowdedService('too_many_in_flight');
  const { client, clock, list, requests } = service;
  await Promise.all([1n, 2n, 3n].map((orderId) => client.cancelOrder({ orderId })));
  expect(requests).toHaveLength(4);
  clock.release();
  expect(await list).toEqual([]);
  expect(requests).toHaveLength(5);
});

test('a refusal because the limits are used up holds up all that follows', async () => {
  await using service = await startCrowdedService('rate_limit_exceeded');
  const { client, clock, list, requests } = service;
  const cancel = client.cancelOrder({ orderId: 1n });
  await expect.poll(() => clock.waitCount).toBe(2);
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(requests).toHaveLength(1);
  clock.release();
  await Promise.all([list, cancel]);
  expect(requests).toHaveLength(3);
});

test('of several refusals the earliest time applies to what follows', async () => {
  const waits = ['30', '5'];
  await using server = await startHttpServer((_, response) => {
    const retryAfter = waits.shift();
    if (retryAfter === undefined) return void response.writeHead(204).end();
    const body = JSON.stringify({ code: 'rate_limit_exceeded', message: 'Too many requests.', status: 429 });
    response.writeHead(429, { 'retry-after': retryAfter, 'content-type': 'application/json' }).end(body);
  });
  const clock = new TestClock();
  const client = createTestRestClient({ baseUrl: server.origin, apiKey: 'key', clock, maxRetries: 0 });
  const cancel = () => client.cancelOrder({ orderId: 1n });
  await Promise.allSettled([cancel(), cancel()]);
  await cancel();
  expect(clock.waits).toEqual([5_000]);
});
