import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { createKey, planOf } from '../support/keys.ts';
import { createServerDatabase } from '../support/template-database.ts';
import { listingOf } from './support/listing-of.ts';
import { placeOrder } from './support/orders.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

const SHOP = 'https://shop.example';
const app = await useTestApp({ corsOrigins: [SHOP] });
await placeOrder(app.persistence);

/** The list, and what a client would send to ask for it again. */
async function list(headers: Record<string, string> = {}, init: { method?: string; key?: string } = {}) {
  const response = await app.fetch('/v1/store/orders', { headers, ...init });
  const { status } = response;
  return { status, etag: response.headers.get('etag') ?? '', body: await response.text(), headers: response.headers };
}

const ifNoneMatch = (value: string) => ({ 'if-none-match': value });

describe('GET /v1/store/orders', () => {
  test('is 304 without a body until an order changes, and shows the limits', async () => {
    const first = await list();
    expect([first.status, first.etag]).toEqual([200, expect.stringMatching(/^W\/"\d+-\d+"$/)]);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const unchanged = await list(ifNoneMatch(first.etag), { key });
    expect(unchanged).toMatchObject({ status: 304, etag: first.etag, body: '' });
    expect(unchanged.headers.get('cache-control')).toBe('private, no-cache');
    expect(unchanged.headers.get('x-ratelimit-limit')).toBe('10');
    expect(unchanged.headers.get('x-ratelimit-remaining')).toBe('9');
    expect(unchanged.headers.get('content-type')).toBeNull();
    const order = await placeOrder(app.persistence);
    const placed = await list(ifNoneMatch(first.etag));
    expect([placed.status, placed.etag === first.etag]).toEqual([200, false]);
    expect(placed.body).toContain(`"id":${order.id},`);
    await app.fetch(`/v1/store/orders/${order.id}`, { method: 'DELETE' });
    expect((await list(ifNoneMatch(placed.etag))).status).toBe(200);
  });

  test('keeps its tag while nothing changes, also over HEAD and when all events have expired', async () => {
    const { etag } = await list();
    expect(await list({}, { method: 'HEAD' })).toMatchObject({ status: 200, etag });
    expect((await list(ifNoneMatch(etag), { method: 'HEAD' })).status).toBe(304);
    const later = new Date(Date.now() + 1_000);
    const signal = AbortSignal.timeout(10_000);
    expect(await app.persistence.events.deleteExpired({ eventsBefore: later, now: later, signal })).toBeGreaterThan(0);
    expect((await list(ifNoneMatch(etag))).status).toBe(304);
  });

  test('reads If-None-Match as RFC 9110 says, and ignores one that is malformed', async () => {
    const { etag } = await list();
    const strong = etag.replace('W/', '');
    for (const known of [
      etag,
      strong,
      '*',
      `"a,b", ${etag}`,
      `W/"x",${strong} , "y"`,
      `${etag},`,
      `, ${etag}`,
      `${etag}, , "x"`,
    ]) {
      expect([known, (await list(ifNoneMatch(known))).status]).toEqual([known, 304]);
    }
    const bare = strong.replaceAll('"', '');
    for (const other of [
      '"0-0"',
      `"${etag}"`,
      bare,
      `${strong} ${strong}`,
      `${etag}, x`,
      `w/${strong}`,
      `*, ${etag}`,
      '',
    ]) {
      expect([other, (await list(ifNoneMatch(other))).status]).toEqual([other, 200]);
    }
  });

  test('is 304 also if fetch adds no-cache, as it does to every request that has If-None-Match', async () => {
    const { etag } = await list();
    const noCache = { ...ifNoneMatch(etag), 'cache-control': 'no-cache', pragma: 'no-cache' };
    expect((await list(noCache)).status).toBe(304);
  });

  test('needs a valid key for a 304', async () => {
    const { etag } = await list();
    const refused = await app.fetch('/v1/store/orders', { key: null, headers: ifNoneMatch(etag) });
    expect([refused.status, refused.headers.get('etag'), refused.headers.get('cache-control')]).toEqual([
      401,
      null,
      'no-store',
    ]);
  });

  test('may be asked for conditionally by scripts of an allowed origin, which can read the tag', async () => {
    const asked = { origin: SHOP, 'access-control-request-method': 'GET' };
    const preflight = await app.fetch('/v1/store/orders', { method: 'OPTIONS', key: null, headers: asked });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('If-None-Match');
    const { headers } = await list({ origin: SHOP });
    expect(headers.get('access-control-expose-headers')).toContain('ETag');
  });

  test('has no tag while a transaction that changes orders is open', async () => {
    await using database = await createServerDatabase();
    await using other = await startTestApp({ databaseUrl: database.url });
    await placeOrder(other.persistence);
    const tagOf = async () => (await other.fetch('/v1/store/orders')).headers.get('etag');
    const etag = await tagOf();
    const writer = new pg.Client({ connectionString: database.url });
    await writer.connect();
    await writer.query('begin; lock table order_events in row exclusive mode');
    expect(await tagOf()).toBeNull();
    expect((await other.fetch('/v1/store/orders', { headers: ifNoneMatch(etag ?? '') })).status).toBe(200);
    await writer.end();
    await vi.waitFor(async () => expect(await tagOf()).toBe(etag), PATIENTLY);
  });

  test('reads no order for a 304', async () => {
    const unreadable: AsyncIterable<never> = {
      [Symbol.asyncIterator]() {
        throw new Error('an order was read');
      },
    };
    await using other = await startTestApp(listingOf(() => unreadable));
    expect((await other.fetch('/v1/store/orders', { headers: ifNoneMatch('*') })).status).toBe(304);
    expect((await other.fetch('/v1/store/orders')).status).toBe(500);
  });
});
