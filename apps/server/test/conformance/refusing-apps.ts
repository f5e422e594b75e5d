import { KEY_REQUESTS_IN_FLIGHT_MAX, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { afterAll, vi } from 'vitest';
import { failing, failingToFindKeys, overriding } from '../http/support/replaced-parts.ts';
import { startTestApp, type TestApp, type TestAppOptions, useTestApp } from '../http/support/test-app.ts';

/** What no response may tell. */
export const SECRET = 'select "secret" from internals';

/** Apps that refuse or fail every request, or most of them. */
export async function useRefusingApps(petsSunsetAt: Date) {
  const failingBy = async (fail: (error: Error) => TestAppOptions) => ({
    faulty: await useTestApp({ petsSunsetAt, ...fail(new Error(SECRET)) }),
    withoutStorage: await useTestApp({ petsSunsetAt, ...fail(new StorageUnavailableError(SECRET)) }),
  });
  return {
    /** It waits a second for the head of a request. */
    hasty: await useTestApp({ petsSunsetAt, bounds: { headersTimeoutMs: 1_000 } }),
    failing: await failingBy(failing),
    failingToFindKeys: await failingBy(failingToFindKeys),
    knownToBeWithoutStorage: await useTestApp({ petsSunsetAt, isStorageAvailable: () => false }),
    full: await useTestApp({ petsSunsetAt, bounds: { maxRequestsInFlight: 0 } }),
    crowded: await startCrowdedApp(),
  };
}

/** An app whose keys have the maximum in flight, which waits until the tests have ended. */
async function startCrowdedApp(): Promise<TestApp> {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const crowded = await startTestApp({
    monotonicNowMs: () => 0, // so that keys stay cached
    wrap: {
      limiter: (limiter) =>
        overriding(limiter, {
          async check(subject, cost) {
            if (isHeld) await gate.promise;
            return limiter.check(subject, cost);
          },
        }),
    },
  });
  const calls = Array(KEY_REQUESTS_IN_FLIGHT_MAX).fill('pets.get').join();
  const most: Promise<Response>[] = [];
  for (const [i, key] of [crowded.key, crowded.internalKey].entries()) {
    await crowded.fetch('/v1/pets/1', { key }); // from here on the process knows the key
    isHeld = true;
    most.push(crowded.fetch(`/trpc/${calls}?batch=1&input=%7B%7D`, { key }));
    await vi.waitUntil(() => crowded.app.traffic.requestsInFlight.count === i + 1, PATIENTLY);
    isHeld = false;
  }
  isHeld = true;
  afterAll(async () => {
    gate.resolve();
    await Promise.all(most);
    await crowded[Symbol.asyncDispose]();
  });
  return crowded;
}
