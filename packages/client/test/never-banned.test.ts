import { type ApiKeyId, PLAN_LIMITS, type RequestLimits } from '@petstore/domain';
import { apiKeySubject, type HeaderTarget, InProcessLimiter, writeRateLimitHeaders } from '@petstore/rate-limit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPetstoreRestClient, PetstoreError, type PetstoreRestClient } from '../src/rest.ts';
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
  readonly seed: number;
}

/** The real limiter before a service that does nothing else, at the end of a wire; all by one clock. */
function createWorld({ limits, latenciesMs, lossEvery, seed, ...options }: World) {
  const clock = new VirtualClock();
  const limiter = new InProcessLimiter({ nowMs: () => clock.now() });
  const subjectOf = (plan: RequestLimits) => apiKeySubject('abcd1234' as ApiKeyId, plan); // as good as any
  let subject = subjectOf(limits);
  const seen = { requests: 0, admitted: 0, refused: 0, banned: 0 };
  let legs = 0;
  const travel = (then: () => void) => clock.schedule(then, latenciesMs[legs++ % latenciesMs.length] ?? 1);
  const random = fc.sample(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { numRuns: 97, seed });
  let draws = 0;

  const fetch = (_: unknown, init?: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      travel(() => {
        const decision = limiter.check(subject, 1);
        seen.requests++;
        if (decision.outcome === 'admitted') seen.admitted++;
        else if (decision.outcome === 'api_key_banned') seen.banned++;
        else seen.refused++;
        const fields: HeaderTarget = {};
        writeRateLimitHeaders(fields, decision);
        const headers = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
        const isLost = lossEvery > 0 && seen.requests % lossEvery === 0;
        travel(() => {
          if (isLost) reject(new TypeError('lost'));
          else if (decision.outcome === 'admitted') resolve(new Response(null, { status: 204, headers }));
          else resolve(new Response('{}', { status: 429, headers }));
        });
      });
    });

  const client = createPetstoreRestClient({
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
  return { clock, client, seen, changePlan };
}

/** A program that calls again and again, whatever comes of it. */
function hammer(client: PetstoreRestClient, clock: VirtualClock, pauseMs: number, endMs: number): void {
  function again() {
    if (clock.now() < endMs) clock.schedule(call, pauseMs);
  }
  function call() {
    client.cancelOrder({ orderId: 1n }).then(again, (error: unknown) => {
      expect(error).toBeInstanceOf(PetstoreError);
      again();
    });
  }
  call();
}

const MINUTE_MS = 60_000;

const world = fc.record({
  limits: fc
    .record({ perMinute: fc.integer({ min: 1, max: 80 }), days: fc.integer({ min: 1, max: 5 }) })
    .map(({ perMinute, days }) => ({ perMinute, perDay: perMinute * days })),
  maxRetries: fc.integer({ min: 0, max: 4 }),
  maxRetryAfterSeconds: fc.constantFrom(0, 1, 10, 60, 60, 300, 100_000),
  spaceRequests: fc.boolean(),
  latenciesMs: fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 7 }),
  lossEvery: fc.constantFrom(0, 0, 2, 7),
  seed: fc.integer(),
}) satisfies fc.Arbitrary<World>;

/** Programs that start at some time and hammer with some pause. */
const load = fc.array(
  fc.record({
    startMs: fc.integer({ min: 0, max: 4 * MINUTE_MS }),
    programs: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 50, max: 200 })),
    pauseMs: fc.oneof(fc.integer({ min: 50, max: 500 }), fc.integer({ min: 1_000, max: 100_000 })),
    lastsMs: fc.constantFrom(0, 5_000, 70_000, 3 * MINUTE_MS),
  }),
  { minLength: 1, maxLength: 4 },
);

/** A longer run is `PETSTORE_PROPERTY_RUNS=20000`. */
const RUNS = Math.ceil(Number(process.env['PETSTORE_PROPERTY_RUNS'] || 250) / 12);

describe('a client', () => {
  test('is never banned, however hard it is driven', { timeout: 60_000 + RUNS * 10_000 }, async () => {
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(world, load, async (options, programs) => {
        const { clock, client, seen } = createWorld(options);
        const startMs = clock.now();
        for (const { startMs: afterMs, programs: count, pauseMs, lastsMs } of programs) {
          clock.schedule(() => {
            for (let i = 0; i < count; i++) hammer(client, clock, pauseMs, clock.now() + lastsMs);
          }, afterMs);
        }
        await clock.runUntil(startMs + 10 * MINUTE_MS);
        expect(seen.banned).toBe(0);
        refusals += seen.refused;
      }),
      { numRuns: RUNS },
    );
    // There was something to be banned for.
    expect(refusals).toBeGreaterThan(RUNS);
  });

  const QUIET = { maxRetries: 2, maxRetryAfterSeconds: 60, latenciesMs: [20, 35], lossEvery: 0, seed: 1 };

  test('gets nearly all that its plan allows, when it asks for more', async () => {
    const { clock, client, seen } = createWorld({ ...QUIET, limits: PLAN_LIMITS.free, spaceRequests: false });
    const startMs = clock.now();
    for (let i = 0; i < 10; i++) hammer(client, clock, 100, startMs + 10 * MINUTE_MS);
    await clock.runUntil(startMs + 10 * MINUTE_MS);
    expect(seen.banned).toBe(0);
    expect(seen.admitted).toBeGreaterThan(0.9 * 600);
    expect(seen.refused).toBeLessThan(100);
  });

  test('that spaces its requests is not refused once, and gets nearly all', async () => {
    const { clock, client, seen } = createWorld({ ...QUIET, limits: PLAN_LIMITS.free, spaceRequests: true });
    const startMs = clock.now();
    for (let i = 0; i < 10; i++) hammer(client, clock, 10, startMs + 10 * MINUTE_MS);
    await clock.runUntil(startMs + 10 * MINUTE_MS);
    expect(seen.refused).toBe(0);
    expect(seen.admitted).toBeGreaterThan(0.9 * 600);
  });

  test('whose day is used up sends next to nothing, and goes on within minutes when it gets a larger plan', async () => {
    const limits = { perMinute: 60, perDay: 10 };
    const { clock, client, seen, changePlan } = createWorld({ ...QUIET, limits, spaceRequests: false });
    const startMs = clock.now();
    hammer(client, clock, 100, startMs + 20 * MINUTE_MS);
    await clock.runUntil(startMs + 10 * MINUTE_MS);
    expect(seen).toMatchObject({ admitted: 10, banned: 0 });
    expect(seen.refused).toBeLessThan(12);
    changePlan(PLAN_LIMITS.pro);
    await clock.runUntil(startMs + 13 * MINUTE_MS);
    expect(seen.admitted).toBeGreaterThan(300);
  });
});
