import { startPostgresServer } from '@petstore/testing';
import { expect, test } from 'vitest';
import { forgedKey, prepareServerDatabase } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { startTestApp } from './support/test-app.ts';

/** For events that follow soon, on a machine that does nothing else. */
const SOON = { timeout: 30_000 };

test('while PostgreSQL is unavailable a cached key stays valid, and other callers get 503, uncounted', async () => {
  await using postgres = await startPostgresServer();
  await prepareServerDatabase(postgres.url);
  let isStorageAvailable = true;
  let elapsedMs = 0;
  await using app = await startTestApp({
    databaseUrl: postgres.url,
    clock: () => new Date(Date.now() + elapsedMs),
    isStorageAvailable: () => isStorageAvailable,
  });
  expect((await app.fetch('/v1/store/orders')).status).toBe(200);
  const unknownKey = forgedKey();

  await postgres.kill();
  isStorageAvailable = false;
  // Sessions end a moment after their server.
  await expect.poll(async () => (await app.fetch('/v1/store/orders')).status, SOON).toBe(503);

  const known = await expectError(await app.fetch('/v1/store/orders'), 'service_unavailable');
  expect(known.headers).toMatchObject({ 'x-ratelimit-limit': '1000000000', 'retry-after': expect.any(String) });
  elapsedMs = 65_000; // the key of the app is not known for longer
  for (const key of [app.key, unknownKey, 'unknown', null]) {
    for (let i = 0; i < 2; i++) {
      const unknown = await expectError(await app.fetch('/v1/store/orders', { key }), 'service_unavailable');
      expect(unknown.headers).toMatchObject({
        'x-ratelimit-limit': '600',
        'x-ratelimit-remaining': '600',
        'retry-after': expect.any(String),
      });
    }
  }
  const trpc = await app.fetch('/trpc/pets.get', { key: unknownKey });
  expect(trpc.status).toBe(503);
  expect(await trpc.json()).toMatchObject({ error: { json: { data: { errorCode: 'service_unavailable' } } } });
  elapsedMs = 0;
  // Routes that need no database work as before.
  await expectError(await app.fetch('/v1/nothing'), 'route_not_found');
  expect((await app.fetch('/docs', { key: null })).status).toBe(200);

  await postgres.restart();
  isStorageAvailable = true;
  await expect.poll(async () => (await app.fetch('/v1/store/orders')).status, SOON).toBe(200);
  await expectError(await app.fetch('/v1/store/orders', { key: unknownKey }), 'invalid_api_key');
}, 120_000);
