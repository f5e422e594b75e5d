import { getEventListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toTrpcEnvelope } from '@petstore/api';
import { startHttpServer } from '@petstore/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NotFoundError, PermissionError, petstoreErrorOf, RateLimitError, transformer } from '../src/index.ts';
import { createTestClient, TestClock } from './support/test-clients.ts';
import { startTestService, type TestService } from './support/test-service.ts';

const clock = new TestClock();
const OPTIONS = { apiKey: 'internal', clock };

const codeOf = (error: unknown) => petstoreErrorOf(error)?.code;

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome.status === 'rejected') return outcome.reason;
  throw new Error('The call did not fail.');
}

beforeEach(() => clock.release()); // a test that failed may have held it

describe('with the real service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ limits: { perMinute: 20, perDay: 1_000 }, nowMs: () => clock.now() });
  });
  afterAll(() => service[Symbol.asyncDispose]());
  beforeEach(() => {
    service.requests.length = 0;
    service.faults.length = 0;
    // The limits of the last test are over.
    clock.advance(61_000);
  });
  const clientOf = (options = {}) => createTestClient({ ...OPTIONS, baseUrl: service.origin, ...options });
  /** Calls that find nothing, made together. */
  const getPets = (client: ReturnType<typeof clientOf>, count: number) =>
    Promise.all(Array.from({ length: count }, () => failureOf(client.pets.get.query({ petId: 404n }))));

  test('calls that are refused together wait together, and go as one request again', async () => {
    const client = clientOf();
    await getPets(client, 18);
    const refused = await getPets(client, 5);
    expect(refused.map(codeOf)).toEqual(Array.from({ length: 5 }, () => 'pet_not_found'));
    expect(service.requests.map((request) => request.split(',').length)).toEqual([18, 5, 5]);
  });

  test('calls whose response is lost together are repeated as one request, whatever wait each would draw', async () => {
    let draws = 0;
    const client = clientOf({ random: () => (draws++ % 2) * 0.99 });
    const placed = await Promise.all([1n, 2n, 3n].map((petId) => client.orders.place.mutate({ petId, quantity: 1 })));
    service.requests.length = 0;
    service.faults.push('lose-response');
    await Promise.all(placed.map(({ id }) => client.orders.cancel.mutate({ orderId: id })));
    expect(service.requests.map((request) => request.split(',').length)).toEqual([3, 3]);
  });

  test('a list is tried again until it begins', async () => {
    service.faults.push('unavailable', 'lose-response');
    let batches = 0;
    for await (const _ of await clientOf().orders.list.query()) batches++;
    expect(batches).toBeGreaterThan(0);
    expect(service.requests).toHaveLength(3);
  });

  test('a wait that is too long is an error at once, for this call and for the next', async () => {
    const client = clientOf({ maxRetryAfterSeconds: 1 });
    await getPets(client, 20);
    const [first] = await getPets(client, 1);
    expect(codeOf(first)).toBe('rate_limit_exceeded');
    expect(petstoreErrorOf(first)).toBeInstanceOf(RateLimitError);
    expect(petstoreErrorOf(first)?.retryAfterSeconds).toBeGreaterThan(1);
    const [second] = await getPets(client, 1);
    expect(codeOf(second)).toBe('rate_limit_exceeded');
    expect(petstoreErrorOf(second)).toBeInstanceOf(RateLimitError);
    expect(petstoreErrorOf(second)?.message).toMatch(/^Not sent/);
    expect(service.requests).toHaveLength(2);
  });

  test('a failure is the error that REST would throw', async () => {
    const client = clientOf({ apiKey: 'external' });
    const notFound = petstoreErrorOf(await failureOf(client.orders.cancel.mutate({ orderId: -1n })));
    expect(notFound).toBeInstanceOf(NotFoundError);
    expect(notFound).toMatchObject({
      code: 'order_not_found',
      status: 404,
      requestId: expect.stringMatching(/^request-/),
      retryAfterSeconds: undefined,
    });
    const forbidden = petstoreErrorOf(await failureOf(client.orders.ship.mutate({ orderId: 1n })));
    expect(forbidden).toBeInstanceOf(PermissionError);
    expect(petstoreErrorOf(new Error('anything'))).toBeUndefined();
    expect(petstoreErrorOf(notFound)).toBe(notFound);
  });

  test('a call ends at once when its caller aborts, also while it waits with others', async () => {
    const client = clientOf();
    service.faults.push('unavailable');
    clock.hold();
    const abort = new AbortController();
    const aborted = failureOf(client.pets.get.query({ petId: 404n }, { signal: abort.signal }));
    const other = failureOf(client.pets.get.query({ petId: 404n }));
    await expect.poll(() => clock.waitCount, { timeout: 20_000 }).toBe(1);
    abort.abort(new Error('enough'));
    expect(petstoreErrorOf(await aborted)).toBeUndefined();
    expect(service.requests).toHaveLength(1);
    expect(clock.waitCount).toBe(1);
    clock.release();
    expect(codeOf(await other)).toBe('pet_not_found');
  });

  test('nothing is left of calls that wait together when all of them are aborted', async () => {
    const client = clientOf();
    service.faults.push('unavailable');
    clock.hold();
    const abort = new AbortController();
    const calls = [1n, 2n].map((petId) => failureOf(client.pets.get.query({ petId }, { signal: abort.signal })));
    await expect.poll(() => clock.waitCount, { timeout: 20_000 }).toBe(1);
    abort.abort(new Error('enough'));
    await Promise.all(calls);
    await expect.poll(() => clock.scheduledCount).toBe(0);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    clock.release();
    expect(service.requests).toHaveLength(1);
  });
});

describe('with a server that', () => {
  async function startServer(...script: ((response: ServerResponse, request: IncomingMessage) => void)[]) {
    const requests: string[] = [];
    const server = await startHttpServer((request, response) => {
      requests.push(request.url ?? '');
      script[Math.min(requests.length, script.length) - 1]?.(response, request);
    });
    const client = createTestClient({ ...OPTIONS, baseUrl: server.origin });
    return { client, requests, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }
  const pet = { result: { data: transformer.serialize({ id: 1n, name: 'Rex' }) } };
  const unavailable = JSON.parse(toTrpcEnvelope('service_unavailable'));
  const json = (status: number, body: unknown) => (response: ServerResponse) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

  test('fails one call of a batch, only this one is tried again', async () => {
    await using server = await startServer(json(207, [pet, unavailable]), json(200, [pet]));
    const pets = await Promise.all([1n, 2n].map((petId) => server.client.pets.get.query({ petId })));
    expect(pets).toEqual([
      { id: 1n, name: 'Rex' },
      { id: 1n, name: 'Rex' },
    ]);
    expect(server.requests.map((url) => url.split('?')[0])).toEqual(['/trpc/pets.get,pets.get', '/trpc/pets.get']);
  });

  test.each([
    ['always fails', json(503, [unavailable]), 'service_unavailable'],
    [
      'is hidden by a gateway',
      (response: ServerResponse) => response.writeHead(502).end('<h1>'),
      'unexpected_response',
    ],
    ['does not respond', () => clock.timeOut(), 'timed_out'],
  ])('%s, a call is tried three times and no more', async (_, answer, code) => {
    await using server = await startServer(answer);
    const failure = await failureOf(server.client.pets.get.query({ petId: 1n }));
    expect(codeOf(failure)).toBe(code);
    expect(server.requests).toHaveLength(3);
  });
});
