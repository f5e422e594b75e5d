import { manualClock, PATIENTLY } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { createKey, importPets, planOf } from '../support/database.ts';
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

/** How often something deprecated was used, once all requests before are over. */
async function countUses(): Promise<number> {
  await expect.poll(() => app.app.traffic.requestsInFlight.count, PATIENTLY).toBe(0);
  return app.deprecatedUse.length;
}

describe('the deprecated operation', () => {
  test.each([
    ['/v1/pets/%zz', PETS_SUNSET_AT.toUTCString()],
    ['/v1/p%65ts/%', PETS_SUNSET_AT.toUTCString()],
    ['/v1/pets/%ff?x=1', PETS_SUNSET_AT.toUTCString()],
    ['/v1/store/orders/%zz', null],
    ['/v1/pets', null],
    ['/v1/pets/1/2', null],
    ['/v1/%zz', null],
  ])('is recognized in %s, which is refused, as one whose sunset is %s', async (path, sunset) => {
    for (const key of [app.key, 'unknown']) {
      const { status, headers } = await app.fetch(path, { key });
      expect([400, 401, 404]).toContain(status);
      expect([headers.get('sunset'), headers.has('deprecation')]).toEqual([sunset, sunset !== null]);
    }
  });

  test('is counted by key, whatever the status; other methods and operations are not counted', async () => {
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
