import type { OrderBatch, OrderRepository } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { KeyedSemaphore } from '../../src/http/concurrency.ts';
import { createKey, forgedKey, pendingOrder, planOf, rotateKey } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { openRaw, type RawResponse, request, sendRaw } from './support/raw-http.ts';
import { LIST_BEGIN, LIST_END, listingOf, overriding } from './support/replaced-parts.ts';
import { startCountingApp, startTestApp, type TestApp } from './support/test-app.ts';

/** Lists of two batches, the second of which waits for `letGo`. */
function heldLists() {
  let gate = Promise.withResolvers<void>();
  let begun = 0;
  let ended = 0;
  async function* texts() {
    try {
      yield LIST_BEGIN;
      await gate.promise;
      yield LIST_END;
    } finally {
      ended++;
    }
  }
  async function* batches(): AsyncGenerator<OrderBatch> {
    begun++;
    try {
      yield { orders: [pendingOrder(1n)], isLast: false };
      await gate.promise;
      yield { orders: [pendingOrder(2n)], isLast: true };
    } finally {
      ended++;
    }
  }
  return {
    options: listingOf(texts, batches),
    /** Lists of orders, which tRPC sends. */
    begun: () => begun,
    ended: () => ended,
    letGo() {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    /** Lets those go, too, that come later. */
    letAllGo: () => gate.resolve(),
    fail: () => gate.reject(new Error('the second batch fails')),
    hold() {
      gate = Promise.withResolvers();
    },
  };
}

/** An app with such lists, which are let go before it closes. */
async function startHolding(
  lists: ReturnType<typeof heldLists>,
  bounds?: { readonly maxLongLists: number },
): Promise<TestApp> {
  const app = await startTestApp({ ...lists.options, ...(bounds && { bounds }) });
  return endingAfter(lists.letAllGo, app);
}

const endingAfter = (letGo: () => void, app: TestApp): TestApp => ({
  ...app,
  [Symbol.asyncDispose]() {
    letGo();
    return app[Symbol.asyncDispose]();
  },
});

const list = (app: TestApp, key = app.key) => app.fetch('/v1/store/orders', { key });
const listOverTrpc = (app: TestApp, count: number, key = app.key) =>
  app.fetch(`/trpc/${Array(count).fill('orders.list').join()}?batch=1`, {
    key,
    headers: { 'trpc-accept': 'application/jsonl' },
  });

const businessKey = async ({ persistence }: TestApp) =>
  (await createKey(persistence, { plan: { name: 'business' } })).text;

/** Expects a 429 for too many requests in progress, in the form of every 429. */
async function expectCrowded(response: Response | RawResponse): Promise<void> {
  const raw = await expectError(response, 'too_many_in_flight');
  expect(raw.headers['retry-after']).toBe('1');
  expectRateLimitHeaders(raw);
}

describe.concurrent('long lists in progress', () => {
  test('are limited to four of a key, to sixteen of an Enterprise key, without effect on other keys', async ({
    expect,
  }) => {
    const lists = heldLists();
    await using app = await startHolding(lists);
    const key = await businessKey(app);
    const four = await Promise.all([1, 2, 3, 4].map(() => list(app, key)));
    for (let i = 0; i < 3; i++) await expectCrowded(await list(app, key));
    // Other requests of the key are admitted, and lists of other keys.
    expect((await app.fetch('/v1/pets/1', { key })).status).toBe(404);
    const sixteen = await Promise.all(Array.from({ length: 16 }, () => list(app)));
    await expectCrowded(await list(app));
    lists.letGo();
    for (const response of [...four, ...sixteen]) {
      expect(response.status).toBe(200);
      expect(await response.text()).toBe('[]');
    }
    // The refused ones are ended, too.
    await expect.poll(lists.ended, PATIENTLY).toBe(24);
    const after = await list(app, key);
    expect(after.status).toBe(200);
    lists.letGo();
    await after.text();
  });

  test('are those of the plan that the key has now', async ({ expect }) => {
    const lists = heldLists();
    await using app = await startHolding(lists);
    const { id, text: key } = await createKey(app.persistence, { plan: { name: 'business' } });
    const four = await Promise.all([1, 2, 3, 4].map(() => list(app, key)));
    await expectCrowded(await list(app, key));
    await app.persistence.keyAdministration.setPlan(id, planOf(1_000), new Date());
    app.forgetKey(id);
    const fifth = await list(app, key);
    lists.letGo();
    for (const response of [...four, fifth]) expect(await response.text()).toBe('[]');
  });

  test('that tRPC sends as one array wait for each other, if they are of one key, and none is refused', async ({
    expect,
  }) => {
    const lists = heldLists();
    await using app = await startHolding(lists);
    const key = await businessKey(app);
    const array = (by: string, signal?: AbortSignal) =>
      app.fetch('/trpc/orders.list', { key: by, ...(signal && { signal }) });
    const first = array(key);
    await expect.poll(lists.begun, PATIENTLY).toBe(1);
    const leaving = new AbortController();
    const left = array(key, leaving.signal).catch((error: unknown) => error);
    const others = [array(key), app.fetch('/trpc/orders.list,orders.list?batch=1', { key })];
    const ofOther = array(app.key);
    const inFlight = () => app.app.traffic.requestsInFlight.count;
    await expect.poll(inFlight, PATIENTLY).toBe(5);
    leaving.abort(new Error('enough'));
    expect(await left).toMatchObject({ message: 'enough' });
    await expect.poll(inFlight, PATIENTLY).toBe(4);
    await expect.poll(lists.begun, PATIENTLY).toBe(2); // one of each key
    using timers = new DisposableStack();
    timers.adopt(setInterval(lists.letGo, 20), clearInterval);
    const all = await Promise.all([first, ofOther, ...others]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(lists.begun(), 'the one whose caller left is not read').toBe(5);
  });

  test('that tRPC sends as one array do not wait for a response that stands behind them on their connection', async ({
    expect,
  }) => {
    let begun = 0;
    const orders = (repository: OrderRepository) =>
      overriding(repository, {
        listOrders() {
          begun++;
          return repository.listOrders();
        },
      });
    const { app: counting, hold } = await startCountingApp({ wrap: { orders } });
    await using app = counting;
    const { id, text: known } = await createKey(app.persistence, { plan: { name: 'business' } });
    const { text: unknown } = await rotateKey(app.persistence, id, new Date('2998-12-31T00:00:00.000Z'));
    await list(app, known); // from here on the process has cached it
    const letGo = hold();
    using connection = await openRaw({ port: app.port });
    connection.write(request('/trpc/orders.list', unknown) + request('/trpc/orders.list', known));
    await expect.poll(() => begun, PATIENTLY).toBe(1);
    letGo();
    expect([await connection.read(), await connection.read()].map(({ status }) => status)).toEqual([200, 200]);
  });

  test('over REST and tRPC count together, each list of a batch on its own', async ({ expect }) => {
    const lists = heldLists();
    await using app = await startHolding(lists);
    const key = await businessKey(app);
    const two = [await list(app, key), await listOverTrpc(app, 1, key)];
    // Two of these fit. The response has begun when the third is refused.
    const crowded = await listOverTrpc(app, 3, key);
    expect(crowded.status).toBe(200);
    await expectCrowded(await list(app, key));
    lists.letGo();
    expect((await crowded.text()).match(/"errorCode":"too_many_in_flight"/g)).toHaveLength(1);
    await Promise.all(two.map((response) => response.text()));
    // All that had begun, the refused ones included: 2, 3 and 1.
    await expect.poll(lists.ended, PATIENTLY).toBe(6);
  });

  test('are only those that have more than one batch', async () => {
    await using app = await startTestApp();
    const key = await businessKey(app);
    const responses = await Promise.all(Array.from({ length: 20 }, () => list(app, key)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    await Promise.all(responses.map((response) => response.text()));
    const batch = await listOverTrpc(app, 20, key);
    expect(batch.status).toBe(200);
    expect(await batch.text()).not.toContain('error');
  });

  test('that fail midway no longer count', async () => {
    const lists = heldLists();
    await using app = await startHolding(lists, { maxLongLists: 4 });
    const key = await businessKey(app);
    const broken = await Promise.all([1, 2, 3, 4].map(() => list(app, key)));
    lists.fail();
    for (const response of broken) await expect(response.text()).rejects.toThrow();
    lists.hold();
    const four = await Promise.all([1, 2, 3, 4].map(() => list(app, key)));
    lists.letGo();
    for (const response of four) expect(await response.text()).toBe('[]');
  });

  test('beyond the maximum of all keys are 503, and are ended', async ({ expect }) => {
    const lists = heldLists();
    await using app = await startHolding(lists, { maxLongLists: 1 });
    const first = await list(app);
    await expectError(await list(app), 'overloaded');
    lists.letGo();
    expect(await first.text()).toBe('[]');
    await expect.poll(lists.ended, PATIENTLY).toBe(2);
  });

  test('that are refused lead to no ban', async () => {
    const lists = heldLists();
    await using app = await startHolding(lists);
    const { text: key } = await createKey(app.persistence, { plan: planOf(400, 400) });
    const sixteen = await Promise.all(Array.from({ length: 16 }, () => list(app, key)));
    const refused = await sendRaw(request('/v1/store/orders', key).repeat(300), { port: app.port, count: 300 });
    for (const response of refused) await expectCrowded(response);
    expect((await app.fetch('/v1/pets/1', { key })).status).toBe(404);
    lists.letGo();
    await Promise.all(sixteen.map((response) => response.text()));
  });
});

/** An app whose look-ups of pets wait for `letGo`, with the number of those that have begun. */
async function startWaitingApp(bounds?: { readonly maxRequestsInFlight: number }) {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const app = await startTestApp({
    ...(bounds && { bounds }),
    monotonicNowMs: () => 0, // so that a key stays cached
    wrap: {
      pets: (pets) =>
        overriding(pets, {
          async findPet(id) {
            begun++;
            await gate.promise;
            return pets.findPet(id);
          },
        }),
    },
  });
  const letGo = () => gate.resolve();
  return { app: endingAfter(letGo, app), begun: () => begun, letGo };
}

const sendTimes = (app: TestApp, count: number, key: string) =>
  Array.from({ length: count }, () => app.fetch('/v1/pets/1', { key }));
const batchOf = (app: TestApp, count: number, key: string) =>
  app.fetch(`/trpc/${Array(count).fill('pets.get').join()}?batch=1&input=${encodeURIComponent(petInputs(count))}`, {
    key,
  });
const petInputs = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, PET_INPUT]).slice(0, 6)));
const PET_INPUT = { json: { petId: '1' }, meta: { values: { petId: ['bigint'] } } };

describe.concurrent('requests in progress', () => {
  test('are limited to 256 of a key, without effect on other keys', async ({ expect }) => {
    const { app: waiting, begun, letGo } = await startWaitingApp();
    await using app = waiting;
    const key = await businessKey(app);
    await list(app, key); // from here on the process has cached it
    const most = sendTimes(app, 250, key);
    await expect.poll(begun, PATIENTLY).toBe(250);
    // Each call of a batch counts: seven are one too many.
    const batch = await batchOf(app, 7, key);
    expect(batch.status).toBe(429);
    expect(batch.headers.get('retry-after')).toBe('1');
    const six = batchOf(app, 6, key);
    await expect.poll(begun, PATIENTLY).toBe(256);
    for (let i = 0; i < 3; i++) await expectCrowded(await app.fetch('/v1/pets/1', { key }));
    const other = app.fetch('/v1/pets/1', { key: app.key });
    await expect.poll(begun, PATIENTLY).toBe(257);
    letGo();
    for (const { status } of await Promise.all([...most, other])) expect(status).toBe(404);
    expect((await six).status).toBe(404);
    expect((await app.fetch('/v1/pets/1', { key })).status).toBe(404);
  });

  test('count for their key, and no longer for their address, once the key is known', async ({ expect }) => {
    const { app: waiting, begun, letGo } = await startWaitingApp();
    await using app = waiting;
    const first = sendTimes(app, 64, app.key);
    await expect.poll(begun, PATIENTLY).toBe(64);
    expect((await app.fetch('/v1/pets/1', { key: null })).status).toBe(401);
    letGo();
    for (const { status } of await Promise.all(first)) expect(status).toBe(404);
  });

  test('cannot be a batch of more than 256 calls, whose error says so', async () => {
    await using app = await startTestApp();
    expect((await batchOf(app, 256, app.key)).status).not.toBe(429);
    const tooLarge = await batchOf(app, 257, app.key);
    expect(tooLarge.status).toBe(400);
    expect(await tooLarge.text()).toContain('more calls than the limits of the key allow');
  });

  test('for pages and documents count for their address, whose 429 has no headers of a limit', async ({ expect }) => {
    await using app = await startTestApp();
    for (const path of ['/docs', '/v1/openapi.json', '/nothing']) {
      const responses = await sendRaw(request(path).repeat(70), { port: app.port, count: 70 });
      const refused = responses.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(70 - 64);
      for (const { headers } of refused) {
        expect(headers['retry-after']).toBe('1');
        expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
      }
    }
    expect((await app.fetch('/docs', { key: null })).status).toBe(200);
  });

  test('without a key leave room for those with keys', async ({ expect }) => {
    const { app: counting, hold } = await startCountingApp({
      bounds: { maxRequestsInFlight: 4, maxRequestsInFlightWithoutKey: 2, requestsInFlightForLookUps: 0 },
    });
    await using app = counting;
    for (let i = 0; i < 20; i++) expect((await app.fetch('/v1/pets/1')).status).toBe(404);
    const letGo = hold();
    const two = [1, 2].map(() => app.fetch('/v1/pets/1', { key: forgedKey() }));
    await expect.poll(() => app.app.traffic.requestsInFlight.count, PATIENTLY).toBe(2);
    await expectError(await app.fetch('/v1/pets/1', { key: forgedKey() }), 'overloaded');
    expect((await app.fetch('/docs', { key: null })).status).toBe(503);
    expect((await app.fetch('/v1/pets/1')).status).toBe(404);
    letGo();
    for (const { status } of await Promise.all(two)) expect(status).toBe(401);
    expect((await app.fetch('/docs', { key: null })).status).toBe(200);
  });

  test('without a key leave room for keys that are being looked up, which may be valid', async ({ expect }) => {
    await using app = await startTestApp({
      bounds: { maxRequestsInFlightWithoutKey: 1, requestsInFlightForLookUps: 1 },
    });
    expect((await app.fetch('/docs', { key: null })).status).toBe(503);
    await expectError(await app.fetch('/v1/pets/1', { key: null }), 'overloaded');
    await expectError(await app.fetch('/v1/pets/1', { key: forgedKey() }), 'overloaded');
    const { text: unknown } = await createKey(app.persistence);
    expect((await app.fetch('/v1/pets/1', { key: unknown })).status).toBe(404);
  });

  test('are bounded for all callers together, refused before any look-up, and admitted again when they are fewer', async ({
    expect,
  }) => {
    const { app: waiting, begun, letGo } = await startWaitingApp({ maxRequestsInFlight: 2 });
    await using app = waiting;
    for (let i = 0; i < 20; i++) expect((await app.fetch('/v1/store/orders')).status).toBe(200);
    const two = sendTimes(app, 2, app.key);
    await expect.poll(begun, PATIENTLY).toBe(2);
    const { text: unknown } = await createKey(app.persistence);
    for (const key of [app.key, unknown, null]) {
      const refused = await expectError(await app.fetch('/v1/pets/1', { key }), 'overloaded');
      expect(refused.headers['retry-after']).toBe('1');
      expectRateLimitHeaders(refused);
    }
    letGo();
    for (const { status } of await Promise.all(two)) expect(status).toBe(404);
    expect((await app.fetch('/v1/pets/1', { key: unknown })).status).toBe(404);
  });
});

test('requests whose client leaves while its key is looked up give back all that they took', async () => {
  const { app: counting, lookUps, hold } = await startCountingApp();
  await using app = counting;
  const letGo = hold();
  const key = await businessKey(app);
  const path = `/trpc/${Array(100).fill('pets.get').join()}?batch=1&input=%7B%7D`;
  const connections = await Promise.all([1, 2].map(() => openRaw({ port: app.port })));
  // The second response of each connection waits behind the first.
  for (const { write } of connections) write(request(path, key).repeat(2));
  const requests = () => app.app.traffic.requestsInFlight.count;
  await expect.poll(requests, PATIENTLY).toBe(4);
  await expect.poll(lookUps, PATIENTLY).toBeGreaterThan(0);
  for (const { socket } of connections) socket.resetAndDestroy();
  await expect.poll(requests, PATIENTLY).toBe(0);
  letGo();
  expect((await app.fetch('/v1/pets/1', { key })).status).toBe(404); // the look-ups have ended
  expect((await batchOf(app, 256, key)).status).toBe(207);
});

test('what was acquired is released once, however often it is asked for', () => {
  const semaphore = new KeyedSemaphore();
  const release = semaphore.tryAcquire('a', 2, 3) ?? expect.fail('it should fit');
  semaphore.tryAcquire('a', 1, 3);
  release();
  release();
  expect(semaphore.acquired('a')).toBe(1);
  expect(semaphore.tryAcquire('a', 3, 3)).toBeUndefined();
});
