import { manualClock, PATIENTLY } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { createKey, importPets, planOf } from '../support/database.ts';
import { expectRateLimitHeaders } from './support/expect-error.ts';
import { overriding } from './support/replaced-parts.ts';
import { PETS_SUNSET_AT, startTestApp, type TestAppOptions, useTestApp } from './support/test-app.ts';
import { encode } from './support/trpc-calls.ts';

const app = await useTestApp();
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);

describe('X-Request-Id', () => {
  const idOf = async (sent?: string) =>
    (await app.fetch('/v1/store/orders', sent === undefined ? {} : { headers: { 'x-request-id': sent } })).headers.get(
      'x-request-id',
    );

  test.each(['a', 'A-b_9', 'x'.repeat(64)])('%s is kept', async (sent) => {
    expect(await idOf(sent)).toBe(sent);
  });

  test.each(['x'.repeat(65), 'a b', 'a,b', 'ä', 'a;b', `${app.key}`, `x${app.key.slice(0, 30)}`])(
    '%s is replaced',
    async (sent) => {
      expect(await idOf(sent)).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test('is new for each request without one', async () => {
    expect(await idOf()).not.toBe(await idOf());
  });
});

describe('what needs a key may be kept by nobody, and has no tag to ask by', () => {
  test.each([
    ['a list', 'GET', '/v1/store/orders', 200],
    ['HEAD', 'HEAD', '/v1/store/orders', 200],
    ['a page', 'GET', '/v2/store/orders', 200],
    ['a pet', 'GET', '/v1/pets/1', 200],
    ['tRPC', 'GET', '/trpc/orders.list', 200],
    ['an error', 'GET', '/v1/pets/2', 404],
  ])('%s', async (_, method, path, status) => {
    const response = await app.fetch(path, { method, headers: { 'if-none-match': '*' } });
    const { headers } = response;
    expect([response.status, headers.get('cache-control'), headers.get('etag')]).toEqual([status, 'no-store', null]);
  });
});

describe('rate limit headers are on', () => {
  test.each([
    ['a list', 'GET', '/v1/store/orders', 200],
    ['OPTIONS', 'OPTIONS', '/v1/store/orders', 204],
    ['tRPC', 'GET', '/trpc/orders.list', 200],
  ])('%s', async (_, method, path, status) => {
    const response = await app.fetch(path, { method });
    expect(response.status).toBe(status);
    expectRateLimitHeaders({ headers: Object.fromEntries(response.headers) });
    expect(response.headers.get('ratelimit-policy')).toBe('"minute";q=1000000000;w=60, "day";q=1000000000;w=86400');
  });

  test('each response once, counting down to 429, whatever the status', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(4) });
    const paths = ['/v1/store/orders', '/v1/x', '/v1/store/orders/1', '/v1/pets/1', '/v1/pets/1'];
    const responses: (number | string | null)[][] = [];
    for (const path of paths) {
      const { status, headers } = await app.fetch(path, { key });
      responses.push([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]);
    }
    expect(responses).toEqual([
      [200, '4', '3'],
      [404, '4', '2'],
      [405, '4', '1'],
      [200, '4', '0'],
      [429, '4', '0'],
    ]);
  });

  test('a key that has used up its day gets the headers of the day', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(60, 1) });
    await app.fetch('/v1/pets/1', { key });
    const response = await app.fetch('/v1/pets/1', { key });
    expect(response.status).toBe(429);
    expect(response.headers.get('x-ratelimit-limit')).toBe('1');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(86_000);
  });
});

/** How often something deprecated was used, once all requests before are over. */
async function countUses(): Promise<number> {
  await expect.poll(() => app.app.traffic.requestsInFlight.count, PATIENTLY).toBe(0);
  return app.deprecatedUse.length;
}

describe('the deprecated operation has deprecation headers', () => {
  test.each([
    ['200', 'GET', '/v1/pets/1', undefined],
    ['405', 'DELETE', '/v1/pets/1', undefined],
    ['401', 'GET', '/v1/pets/1', 'unknown'],
    ['204', 'OPTIONS', '/v1/pets/1', undefined],
  ])('on a %s', async (status, method, path, key) => {
    const response = await app.fetch(path, { method, ...(key !== undefined && { key }) });
    expect(String(response.status)).toBe(status);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      deprecation: expect.stringMatching(/^@\d+$/),
      sunset: PETS_SUNSET_AT.toUTCString(),
      link: expect.stringMatching(
        /^<\.\.\/\.\.\/docs\/versions#what-is-deprecated-now>; rel="deprecation".*rel="sunset"/,
      ),
    });
  });

  test('with a sunset before the deprecation, the deprecation is no later than the sunset', async () => {
    const petsSunsetAt = new Date('2026-01-01T00:00:00.000Z');
    await using early = await startTestApp({ petsSunsetAt });
    const { status, headers } = await early.fetch('/v1/pets/1');
    expect(status).toBe(410);
    expect(headers.get('deprecation')).toBe(`@${petsSunsetAt.getTime() / 1000}`);
    expect(headers.get('sunset')).toBe(petsSunsetAt.toUTCString());
  });

  test.each(['/v1/pets/%zz', '/v1/p%65ts/%', '/v1/pets/%ff?x=1'])('where %s cannot be decoded', async (path) => {
    const { status, headers } = await app.fetch(path);
    expect(status).toBe(400);
    expect(headers.get('deprecation')).toMatch(/^@\d+$/);
    expect((await app.fetch(path, { key: 'unknown' })).headers.get('sunset')).toBe(PETS_SUNSET_AT.toUTCString());
  });

  test.each(['/v1/store/orders', '/v1/store/orders/%zz', '/v1/pets', '/v1/pets/1/2', '/v1/%zz'])(
    'and %s has none',
    async (path) => {
      expect((await app.fetch(path)).headers.has('deprecation')).toBe(false);
    },
  );

  test('and its use is counted by key, whatever the status; other methods and operations are not counted', async () => {
    const { id, text: key } = await createKey(app.persistence, { plan: planOf(5) });
    const before = await countUses();
    for (const path of ['/v1/pets/1', '/v1/pets/x', '/v1/pets/404', '/v1/pets/%zz']) await app.fetch(path, { key });
    await app.fetch('/v1/pets/1', { key, method: 'HEAD' });
    expect((await app.fetch('/v1/pets/1', { key })).status).toBe(429);
    await app.fetch('/v1/pets/1', { key: null });
    await app.fetch('/v1/pets/1', { method: 'DELETE' });
    await app.fetch('/v1/pets/1', { method: 'OPTIONS' });
    await app.fetch('/v1/store/orders/404', { method: 'DELETE' });
    const operation = 'getPetById';
    expect(app.deprecatedUse.slice(before)).toEqual([
      ...Array.from({ length: 6 }, () => ({ operation, keyId: id })),
      { operation, keyId: undefined },
    ]);
  });
});

/** The path of calls over tRPC, as a batch if there are several. */
function pathOf(...calls: readonly (readonly [name: string, input: object])[]): string {
  const names = calls.map(([name]) => name).join();
  const [input = '', ...others] = calls.map(([, own]) => encode(own));
  if (others.length === 0) return `/trpc/${names}?input=${encodeURIComponent(input)}`;
  const inputs = [input, ...others].map((text, index) => `"${index}":${text}`).join();
  return `/trpc/${names}?batch=1&input=${encodeURIComponent(`{${inputs}}`)}`;
}

describe('the deprecated procedure has deprecation headers over tRPC, too', () => {
  const pet = ['pets.get', { petId: 1n }] as const;
  const unknownPet = ['pets.get', { petId: 404n }] as const;
  const limits = ['limits.current', {}] as const;
  const STREAMED = { headers: { 'trpc-accept': 'application/jsonl' } };

  test.each([
    ['200', pathOf(pet), {}],
    ['404', pathOf(unknownPet), {}],
    ['400', pathOf(['pets.get', { petId: 'x' }]), {}],
    ['401', pathOf(pet), { key: 'unknown' }],
    ['405', pathOf(pet), { method: 'POST' }],
    ['200 of a batch', pathOf(limits, pet, limits), {}],
    ['207 of a batch in which it fails', pathOf(limits, unknownPet), {}],
    ['207 of a batch in which another fails', pathOf(['orders.get', { orderId: 404n }], pet), {}],
    ['200 of a stream', pathOf(limits, pet), STREAMED],
    ['200 of a stream in which it fails', pathOf(limits, unknownPet), STREAMED],
  ])('on a %s, with the same values and the same guide', async (what, path, init) => {
    const rest = await app.fetch('/v1/pets/1');
    const response = await app.fetch(path, init);
    expect(response.status).toBe(Number(what.slice(0, 3)));
    expect(response.headers.get('transfer-encoding')).toBe(init === STREAMED ? 'chunked' : null);
    for (const name of ['deprecation', 'sunset']) expect(response.headers.get(name)).toBe(rest.headers.get(name));
    const linksOf = ({ url, headers }: Response) =>
      headers.get('link')?.replaceAll(/<(.*?)>/g, (_, target) => `<${new URL(target, url)}>`);
    expect(linksOf(response)).toBe(linksOf(rest));
    await response.text(); // a stream is over with its body
  });

  test.each([
    pathOf(limits),
    pathOf(limits, limits),
    '/trpc/limits.current,pets.get',
    '/trpc/pets',
    '/trpc/pets.get.x',
  ])('and %s has none', async (path) => {
    expect((await app.fetch(path)).headers.has('deprecation')).toBe(false);
  });

  test('and each call is counted by key, whatever becomes of it', async () => {
    const { id, text: key } = await createKey(app.persistence, { plan: planOf(4) });
    const before = await countUses();
    await app.fetch(pathOf(pet), { key });
    await (await app.fetch(pathOf(unknownPet, limits, pet), { key, ...STREAMED })).text();
    await app.fetch(pathOf(pet), { key, method: 'HEAD' }); // costs a unit, and calls nothing
    expect((await app.fetch(pathOf(pet), { key })).status).toBe(429);
    await app.fetch(pathOf(pet), { key: null });
    await app.fetch(pathOf(pet), { method: 'POST' });
    await app.fetch(pathOf(pet), { method: 'OPTIONS' });
    await app.fetch(pathOf(limits));
    const operation = 'pets.get';
    expect(app.deprecatedUse.slice(before)).toEqual([
      ...Array.from({ length: 4 }, () => ({ operation, keyId: id })),
      { operation, keyId: undefined },
    ]);
  });
});

describe('Reset', () => {
  /** The headers of a response that uses up the minute, and during which something happens. */
  const headersAround = async (happen: () => void, options: TestAppOptions): Promise<Headers> => {
    await using own = await startTestApp({
      ...options,
      wrap: {
        pets: (pets) =>
          overriding(pets, {
            async findPet(id) {
              happen();
              return pets.findPet(id);
            },
          }),
      },
    });
    const { text: key } = await createKey(own.persistence, { plan: planOf(1, 1_000) });
    const { headers } = await own.fetch('/v1/pets/1', { key });
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    return headers;
  };

  test('never lies in the past, however long a response takes', async () => {
    let aheadMs = 0;
    const monotonicNowMs = () => performance.now() + aheadMs;
    const wait = () => {
      aheadMs += 120_000; // PostgreSQL was frozen for so long
    };
    const headers = await headersAround(wait, { monotonicNowMs });
    expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThanOrEqual(Math.floor((Date.now() + aheadMs) / 1_000));
    expect(headers.get('ratelimit')).toMatch(/^"minute";r=0;t=0, /);
  });

  test.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('is in the next minute, although the wall clock is set %s during the request', async (_, stepMs) => {
    const clock = manualClock(new Date());
    const headers = await headersAround(() => clock.advance(stepMs), { clock });
    expect(Number(headers.get('x-ratelimit-reset')) - Date.now() / 1_000).toBeLessThan(75);
    expect(Number(/^"minute";r=0;t=(\d+), /.exec(headers.get('ratelimit') ?? '')?.[1])).toSatisfy(
      (seconds: number) => seconds > 0 && seconds < 75,
    );
  });
});
