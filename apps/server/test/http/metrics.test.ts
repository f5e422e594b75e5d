import type { ApiKeyId } from '@petstore/domain';
import type { RateLimitDecision } from '@petstore/rate-limit';
import { describe, expect, test } from 'vitest';
import { REFUSAL_CODES } from '../../src/http/refusal-codes.ts';
import { type LimitedCaller, Metrics } from '../../src/operations/metrics.ts';
import { createKey, planOf } from '../support/database.ts';
import { sendRaw } from './support/raw-http.ts';
import { countForAddress, createKeyBeforeBan, useTestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

const ORIGIN = 'https://shop.example';

let counted: string[] = [];

/** As in `free minute rate_limit_exceeded`. */
function count(caller: LimitedCaller, decision: RateLimitDecision): void {
  const window = decision.outcome === 'refused' ? `${decision.limitingWindow} ` : '';
  const outcome = decision.outcome === 'admitted' ? 'admitted' : REFUSAL_CODES[decision.outcome];
  counted.push(`${caller} ${window}${outcome}`);
}

const decisions = { countDecision: count, countRemembered: count };
const app = await useTestApp({ decisions, corsOrigins: [ORIGIN] });

/** What was counted since last asked. */
function taken(): readonly string[] {
  const before = counted;
  counted = [];
  return before;
}

describe('one decision is counted for each request', () => {
  test('of a key, by its plan and the window that refused', async () => {
    const { text: free } = await createKey(app.persistence, { plan: { name: 'free' } });
    for (const path of ['/v1/pets/1', '/v1/pets/0', '/v1/nothing', '/v1/store/orders']) {
      await app.fetch(path, { key: free });
      expect(taken(), path).toEqual(['free admitted']);
    }
    const { text: byMinute } = await createKey(app.persistence, { plan: planOf(1) });
    const { text: byDay } = await createKey(app.persistence, { plan: planOf(100, 1) });
    for (const key of [byMinute, byMinute, byDay, byDay]) await app.fetch('/v1/pets/1', { key });
    expect(taken()).toEqual([
      'enterprise admitted',
      'enterprise minute rate_limit_exceeded',
      'enterprise admitted',
      'enterprise day rate_limit_exceeded',
    ]);
  });

  test('of a banned key, whatever it calls', async () => {
    const key = await createKeyBeforeBan(app);
    await app.fetch('/v1/pets/1', { key });
    expect(taken()).toEqual(['enterprise api_key_banned']);
    await app.fetch('/v1/pets/1', { key });
    await query(app, 'limits.current', undefined, { key });
    await app.fetch('/trpc/limits.current,limits.current?batch=1&input=%7B%7D', { key });
    expect(taken()).toEqual(Array.from({ length: 3 }, () => 'enterprise api_key_banned'));
    app.advanceLimiterClock(6_000); // the ban has to be read again
    await query(app, 'limits.current', undefined, { key });
    expect(taken()).toEqual(['enterprise api_key_banned']);
  });

  test('of a batch, once for all its calls', async () => {
    const { text: key } = await createKey(app.persistence, { plan: { name: 'pro' } });
    await app.fetch('/trpc/orders.list,limits.current,orders.list?batch=1&input=%7B%7D', { key });
    expect(taken()).toEqual(['pro admitted']);
  });

  test('without a valid key, for its address: a refusal that is remembered and what is no request included, but no preflight', async () => {
    await app.fetch('/v1/pets/1', { key: null });
    await app.fetch('/v1/pets/1', { key: 'wrong' });
    await sendRaw('NO REQUEST\r\n\r\n', app);
    const preflight = { origin: ORIGIN, 'access-control-request-method': 'GET' };
    expect((await app.fetch('/v1/pets/1', { method: 'OPTIONS', key: null, headers: preflight })).status).toBe(204);
    expect(taken()).toEqual(Array.from({ length: 3 }, () => 'address admitted'));
    await countForAddress(app, '127.0.0.1', 595);
    for (let i = 0; i < 10; i++) await app.fetch('/v1/pets/1', { key: null });
    expect(taken()).toEqual([
      ...Array.from({ length: 2 }, () => 'address admitted'),
      ...Array.from({ length: 8 }, () => 'address minute rate_limit_exceeded'),
    ]);
    await app.fetch('/docs', { key: null });
    await app.fetch('/v1/openapi.json', { key: null });
    expect(taken(), 'no limit decides on these').toEqual([]);
  });
});

test('metrics name operations, never URLs', async () => {
  const seen = app.observed.length;
  await app.fetch('/v1/store/orders');
  await app.fetch('/v1/store/orders/77', { method: 'DELETE' });
  await app.fetch('/v2/store/orders');
  await app.fetch('/v2/store/orders/77');
  await app.fetch('/v1/anything/at/all');
  await app.fetch('/trpc/pets.get');
  await app.fetch('/trpc/anything');
  await app.fetch('/trpc/pets.get,orders.list?batch=1');
  await app.fetch('/nowhere');
  expect(app.observed.slice(seen).map(({ operation, status }) => `${operation} ${status}`)).toEqual([
    'listOrders 200',
    'cancelOrder 404',
    'listOrdersPage 200',
    'getOrder 404',
    'unknown 404',
    'pets.get 400',
    'unknown 404',
    expect.stringMatching(/^batch \d+$/),
    'unknown 404',
  ]);
  expect(app.observed.every(({ durationSeconds }) => durationSeconds >= 0 && durationSeconds < 10)).toBe(true);
});

const idOf = (key: number) => String(key).padStart(8, '0') as ApiKeyId; // as generated ones

test('the use of a deprecated operation makes no more series than 1,000 keys, one without a key, and one for all others', async () => {
  const metrics = new Metrics({ commit: undefined, petsSunsetAt: new Date(0) });
  for (let key = 0; key < 1_500; key++) metrics.observeDeprecatedUse('getPetById', idOf(key));
  metrics.observeDeprecatedUse('getPetById', idOf(0));
  metrics.observeDeprecatedUse('getPetById');
  const text = await metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith('petstore_deprecated_requests_total'));
  expect(lines).toHaveLength(1_002);
  expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="00000000"} 2');
  expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key=""} 1');
  expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="other"} 500');
});
