import { toTrpcEnvelope } from '@petstore/api';
import { type ApiKeyId, PLAN_LIMITS, type RequestLimits } from '@petstore/domain';
import {
  apiKeySubject,
  canEverFit,
  type HeaderTarget,
  InProcessLimiter,
  type RateLimitDecision,
  type RateLimitSnapshot,
  writeRateLimitHeaders,
} from '@petstore/rate-limit';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createPetstoreClient, type PetstoreClient, petstoreErrorOf, transformer } from '../src/index.ts';
import { VirtualClock } from './support/virtual-clock.ts';

interface World {
  readonly limits: RequestLimits;
  readonly maxRetries: number;
  readonly maxRetryAfterSeconds: number;
  readonly spaceRequests: boolean;
  /** How long requests and answers are under way, again and again. */
  readonly latenciesMs: readonly number[];
  /** Of how many requests one is lost on its way back; 0: none. */
  readonly lossEvery: number;
  /** How much of the key's limits others used before, and how long before. */
  readonly usedBefore?: readonly { readonly cost: number; readonly agoMs: number }[];
  readonly seed: number;
}

/** The real limiter before a service that does nothing else, at the end of a wire; all by one clock. */
function createWorld({ limits, latenciesMs, lossEvery, usedBefore = [], seed, ...options }: World) {
  const clock = new VirtualClock();
  const startMs = clock.now();
  let agoMs = 0;
  let hasRoom = true;
  let isDown = false;
  const limiter = new InProcessLimiter({ nowMs: () => clock.now() - agoMs });
  const subjectOf = (plan: RequestLimits) => apiKeySubject('abcd1234' as ApiKeyId, plan); // as good as any
  let subject = subjectOf(limits);
  for (const { cost, agoMs: ago } of usedBefore.toSorted((one, other) => other.agoMs - one.agoMs)) {
    agoMs = ago;
    for (let i = 0; i < cost && hasRoom; i++) {
      const { minute, day } = limiter.check(subject, 1);
      hasRoom = minute.remaining > 0 && day?.remaining !== 0;
    }
  }
  agoMs = 0;
  // `refusedThoughTold`: of those that were sent when an answer had told the limits.
  const seen = { requests: 0, admitted: 0, refused: 0, banned: 0, refusedThoughTold: 0 };
  let isTold = false;
  let legs = 0;
  const travel = (then: () => void) => clock.schedule(then, latenciesMs[legs++ % latenciesMs.length] ?? 1);
  const random = fc.sample(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { numRuns: 97, seed });
  let draws = 0;

  /** As the service's door does: a batch that can never fit costs 1. */
  function admit(cost: number, wasTold: boolean): RateLimitDecision {
    const decision = limiter.check(subject, canEverFit(subject, cost) ? cost : 1);
    seen.requests++;
    if (decision.outcome === 'admitted') seen.admitted += cost;
    else if (decision.outcome === 'api_key_banned') seen.banned++;
    else seen.refused++;
    if (decision.outcome !== 'admitted' && wasTold) seen.refusedThoughTold++;
    return decision;
  }

  const fetch = (input: unknown, init?: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      const calls = callsOf(String(input));
      const wasTold = isTold;
      travel(() => {
        if (isDown) return reject(new TypeError('down'));
        if (isFree(String(input))) {
          void limiter.peek(subject).then((standing) => travel(() => resolve(answerTo(standing, 1, true))));
          return;
        }
        const decision = admit(calls ?? 1, wasTold);
        const isLost = lossEvery > 0 && seen.requests % lossEvery === 0;
        const answer = answerTo(decision, calls, canEverFit(subject, calls ?? 1));
        travel(() => {
          if (isLost) return reject(new TypeError('lost'));
          isTold ||= init?.signal?.aborted !== true;
          resolve(answer);
        });
      });
    });

  const client = createPetstoreClient({
    baseUrl: 'http://petstore.example.com',
    apiKey: 'key',
    timeoutMs: 10_000,
    clock,
    fetch,
    random: () => random[draws++ % random.length] ?? 0,
    ...options,
  });
  const setOutage = (isOn: boolean) => {
    isDown = isOn;
  };
  const changePlan = (plan: RequestLimits) => {
    subject = subjectOf(plan);
  };
  return { clock, startMs, client, seen, changePlan, setOutage };
}

/** How many calls a batch holds; `undefined` over REST. */
const callsOf = (url: string): number | undefined =>
  url.includes('/trpc/') ? new URL(url).pathname.split(',').length : undefined;

const isFree = (url: string): boolean => url.endsWith('/trpc/limits.current');

function answerTo(
  decision: RateLimitDecision | RateLimitSnapshot,
  calls: number | undefined,
  canFit: boolean,
): Response {
  const fields: HeaderTarget = {};
  writeRateLimitHeaders(fields, decision);
  const headers = new Headers({ 'content-type': 'application/json' });
  for (const [name, value] of Object.entries(fields)) headers.set(name, String(value));
  const { outcome } = decision;
  if (outcome !== 'admitted' && outcome !== 'snapshot')
    return new Response(calls ? toTrpcEnvelope(outcome) : '{}', { status: 429, headers });
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
  /** When it gives a call up; 0: never. */
  readonly patienceMs?: number;
}

/** A program that calls again and again, whatever comes of it. */
function hammer(client: PetstoreClient, clock: VirtualClock, { batchSize, pauseMs, endMs, patienceMs = 0 }: Program) {
  const enough = new Error('enough');
  async function callOnce() {
    const abort = new AbortController();
    const cancel = patienceMs > 0 ? clock.schedule(() => abort.abort(enough), patienceMs) : () => {};
    const { signal } = abort;
    const calls =
      batchSize === 0
        ? [client.rest.cancelOrder({ orderId: 1n }, { signal })]
        : Array.from({ length: batchSize }, () => client.pets.get.query({ petId: 1n }, { signal }));
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === 'rejected' && !signal.aborted) expect(petstoreErrorOf(outcome.reason)).toBeDefined();
    }
    cancel();
    if (clock.now() < endMs) clock.schedule(() => void callOnce(), pauseMs);
  }
  void callOnce();
}

// What tRPC puts off to put calls together must happen before the virtual time goes on.
beforeEach(() => {
  const { setTimeout } = globalThis;
  vi.stubGlobal('setTimeout', (callback: () => void, delayMs = 0) =>
    delayMs > 0 ? setTimeout(callback, delayMs) : setImmediate(callback),
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** @param latencyMaxMs what is sent together, and refused, is no strike if it arrives within 2 s: see the bans */
const worldOf = (latencyMaxMs: number) =>
  fc.record({
    limits: fc
      .record({ perMinute: fc.integer({ min: 1, max: 80 }), days: fc.integer({ min: 1, max: 5 }) })
      .map(({ perMinute, days }) => ({ perMinute, perDay: perMinute * days })),
    maxRetries: fc.integer({ min: 0, max: 4 }),
    maxRetryAfterSeconds: fc.constantFrom(0, 1, 10, 60, 60, 300, 100_000),
    spaceRequests: fc.boolean(),
    latenciesMs: fc.array(fc.integer({ min: 1, max: latencyMaxMs }), { minLength: 1, maxLength: 7 }),
    lossEvery: fc.constantFrom(0, 0, 2, 7),
    usedBefore: fc.array(
      fc.record({ cost: fc.integer({ min: 1, max: 60 }), agoMs: fc.integer({ min: 0, max: 2 * MINUTE_MS }) }),
      { maxLength: 4 },
    ),
    seed: fc.integer(),
  }) satisfies fc.Arbitrary<World>;

/**
 * Programs that start at some time and hammer with some pause: many over REST, few over tRPC.
 *
 * @param patiencesMs when they give a call up; who does before its answer comes does not hear of a refusal. 0: never
 */
const loadOf = (...patiencesMs: number[]) =>
  fc.array(
    fc.record({
      startMs: fc.integer({ min: 0, max: 4 * MINUTE_MS }),
      size: fc.oneof(
        fc.record({ programs: fc.integer({ min: 1, max: 4 }), batchSize: fc.constantFrom(0, 1, 3, 7, 20) }),
        fc.record({ programs: fc.integer({ min: 50, max: 200 }), batchSize: fc.constant(0) }),
      ),
      pauseMs: fc.oneof(fc.integer({ min: 50, max: 500 }), fc.integer({ min: 1_000, max: 100_000 })),
      patienceMs: fc.constantFrom(...patiencesMs),
      lastsMs: fc.constantFrom(0, 5_000, 70_000, 3 * MINUTE_MS),
    }),
    { minLength: 1, maxLength: 4 },
  );
type Load = ReturnType<typeof loadOf> extends fc.Arbitrary<infer Value> ? Value : never;

/** A longer run is `PETSTORE_PROPERTY_RUNS=20000`. */
const RUNS = Math.ceil(Number(process.env['PETSTORE_PROPERTY_RUNS'] || 250) / 12);

/** What the service sees of a client that is driven so, in ten minutes. */
async function drive(options: World, programs: Load) {
  const { clock, startMs, client, seen } = createWorld(options);
  for (const { startMs: afterMs, size, lastsMs, ...program } of programs) {
    const { programs: count, batchSize } = size;
    clock.schedule(() => {
      for (let i = 0; i < count; i++) hammer(client, clock, { ...program, batchSize, endMs: clock.now() + lastsMs });
    }, afterMs);
  }
  await clock.runUntil(startMs + 10 * MINUTE_MS);
  return seen;
}

const QUIET = { maxRetries: 2, maxRetryAfterSeconds: 60, latenciesMs: [20, 35], lossEvery: 0, seed: 1 };

describe('a client', () => {
  test('is never banned, however hard it is driven', { timeout: 60_000 + RUNS * 10_000 }, async () => {
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(worldOf(900), loadOf(0), async (options, programs) => {
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
    const { clock, startMs, client, seen } = createWorld({
      ...QUIET,
      limits: PLAN_LIMITS.free,
      spaceRequests: false,
    });
    const endMs = startMs + 10 * MINUTE_MS;
    for (let i = 0; i < 10; i++) hammer(client, clock, { batchSize: 0, pauseMs: 100, endMs });
    await clock.runUntil(endMs);
    expect(seen.banned).toBe(0);
    expect(seen.admitted).toBeGreaterThan(0.9 * 600);
    expect(seen.refused).toBeLessThan(100);
  });

  test('whose day is used up sends next to nothing, and goes on within minutes when it gets a larger plan', async () => {
    const limits = { perMinute: 60, perDay: 10 };
    const { clock, startMs, client, seen, changePlan } = createWorld({ ...QUIET, limits, spaceRequests: false });
    hammer(client, clock, { batchSize: 0, pauseMs: 100, endMs: startMs + 20 * MINUTE_MS });
    await clock.runUntil(startMs + 10 * MINUTE_MS);
    expect(seen).toMatchObject({ admitted: 10, banned: 0 });
    expect(seen.refused).toBeLessThan(12);
    changePlan(PLAN_LIMITS.pro);
    await clock.runUntil(startMs + 13 * MINUTE_MS);
    expect(seen.admitted).toBeGreaterThan(300);
  });
});

describe('a client that spaces its requests', () => {
  test('is not refused once it knows the limits, however it is driven', {
    timeout: 60_000 + RUNS * 10_000,
  }, async () => {
    let admitted = 0;
    await fc.assert(
      fc.asyncProperty(worldOf(2_500), loadOf(0, 0, 0, 700, 4_000), async (options, programs) => {
        const seen = await drive({ ...options, spaceRequests: true }, programs);
        // Calls given up one after the other look like an outage: one request a minute is then a try.
        expect(seen.refusedThoughTold).toBeLessThanOrEqual(programs.some(({ patienceMs }) => patienceMs > 0) ? 10 : 0);
        admitted += seen.admitted;
      }),
      { numRuns: 2 * RUNS, endOnFailure: true },
    );
    expect(admitted).toBeGreaterThan(20 * RUNS);
  });

  test.each([
    { latenciesMs: [25], batchSize: 0, cost: 0, programs: 10, least: 0.9 },
    { latenciesMs: [1_500], batchSize: 0, cost: 0, programs: 10, least: 0.8 },
    { latenciesMs: [400], batchSize: 0, cost: 40, programs: 10, least: 0.85 },
    { latenciesMs: [25], batchSize: 7, cost: 0, programs: 1, least: 0.8 },
    { latenciesMs: [400, 900], batchSize: 7, cost: 40, programs: 4, least: 0.75 },
    { latenciesMs: [25], batchSize: 20, cost: 0, programs: 3, least: 0.8 },
  ])('gets nearly all that its plan allows: %j', async ({ latenciesMs, batchSize, cost, programs, least }) => {
    const { clock, startMs, client, seen } = createWorld({
      ...QUIET,
      limits: PLAN_LIMITS.free,
      spaceRequests: true,
      latenciesMs,
      usedBefore: [{ cost, agoMs: 5_000 }],
    });
    const endMs = startMs + 10 * MINUTE_MS;
    for (let i = 0; i < programs; i++) hammer(client, clock, { batchSize, pauseMs: 10, endMs });
    await clock.runUntil(endMs);
    expect(seen.refused).toBe(0);
    expect(seen.admitted).toBeGreaterThan(least * 600);
  });

  test('whose day was used up asks once, and then not before there is room', async () => {
    const { clock, startMs, client, seen } = createWorld({
      ...QUIET,
      limits: { perMinute: 60, perDay: 30 },
      spaceRequests: true,
      usedBefore: [{ cost: 30, agoMs: DAY_MS - 30 * MINUTE_MS }],
    });
    hammer(client, clock, { batchSize: 0, pauseMs: 1_000, endMs: startMs + 50 * MINUTE_MS });
    await clock.runUntil(startMs + 29 * MINUTE_MS);
    expect(seen).toMatchObject({ requests: 1, refused: 1 });
    await clock.runUntil(startMs + 50 * MINUTE_MS);
    expect(seen).toMatchObject({ admitted: 30, refused: 1 });
  });

  test('gets what days allow, too', async () => {
    const { clock, startMs, client, seen } = createWorld({
      ...QUIET,
      limits: { perMinute: 6, perDay: 20 },
      maxRetryAfterSeconds: 100_000,
      spaceRequests: true,
      usedBefore: [{ cost: 5, agoMs: DAY_MS / 2 }],
    });
    const endMs = startMs + 5 * DAY_MS;
    hammer(client, clock, { batchSize: 3, pauseMs: 1_000, endMs });
    hammer(client, clock, { batchSize: 0, pauseMs: 1_000, endMs });
    await clock.runUntil(endMs);
    expect(seen.refused).toBe(0);
    expect(seen.admitted).toBeGreaterThan(0.8 * 5 * 20);
  });

  test('goes on within a minute or so after an outage, however much was sent in vain', async () => {
    const limits = { perMinute: 60, perDay: 100 };
    const { clock, startMs, client, seen, setOutage } = createWorld({ ...QUIET, limits, spaceRequests: true });
    hammer(client, clock, { batchSize: 0, pauseMs: 100, endMs: startMs + 40 * MINUTE_MS });
    await clock.runUntil(startMs + 5_000);
    setOutage(true);
    await clock.runUntil(startMs + 20 * MINUTE_MS);
    setOutage(false);
    const { admitted } = seen;
    await clock.runUntil(startMs + 22 * MINUTE_MS);
    expect(seen.admitted).toBeGreaterThan(admitted + 20);
    expect(seen.refused).toBe(0);
  });

  test('goes on with a larger plan as soon as limits.current tells of it', async () => {
    const limits = { perMinute: 60, perDay: 10 };
    const { clock, startMs, client, seen, changePlan } = createWorld({ ...QUIET, limits, spaceRequests: true });
    hammer(client, clock, { batchSize: 0, pauseMs: 100, endMs: startMs + 20 * MINUTE_MS });
    await clock.runUntil(startMs + 10 * MINUTE_MS);
    changePlan(PLAN_LIMITS.pro);
    await clock.runUntil(startMs + 12 * MINUTE_MS);
    expect(seen).toMatchObject({ requests: 10, refused: 0 });
    client.limits.current.query().catch(() => {}); // what is told besides the headers is none of it here
    await clock.runUntil(startMs + 13 * MINUTE_MS);
    expect(seen.admitted).toBeGreaterThan(150);
    expect(seen.refused).toBe(0);
  });
});
