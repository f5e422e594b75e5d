import type { ApiKeyId, Plan } from '@petstore/domain';
import { manualClock } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { LIST_BEGIN, LIST_END, listingOf } from './support/replaced-parts.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

const CACHED_MS = 5_000;

const limitOf = (response: Response) => response.headers.get('x-ratelimit-limit');
const look = (app: TestApp, key: string) => app.fetch('/v1/pets/1', { key });
const limitPerMinute = (app: TestApp, key: string) => query(app, 'limits.current', undefined, { key });

const setPlan = (app: TestApp, id: ApiKeyId, plan: Plan) =>
  app.persistence.keyAdministration.setPlan(id, plan, new Date());

describe('a change of plan', () => {
  test('raises and lowers the limits within 5 s, in headers and in limits.current', async () => {
    const clock = manualClock(new Date());
    await using app = await startTestApp({ clock });
    const { id, text: key } = await createKey(app.persistence, { plan: planOf(2) });
    for (let i = 0; i < 2; i++) expect((await look(app, key)).status).toBe(404);
    expect(limitOf(await look(app, key))).toBe('2');

    await setPlan(app, id, { name: 'business' });
    clock.advance(CACHED_MS);
    const raised = await look(app, key);
    expect([raised.status, limitOf(raised), raised.headers.get('x-ratelimit-remaining')]).toEqual([404, '1000', '997']);
    expect(raised.headers.get('ratelimit-policy')).toBe('"minute";q=1000;w=60, "day";q=100000;w=86400');
    expect(await limitPerMinute(app, key)).toMatchObject({ data: { minute: { limit: 1_000, remaining: 997 } } });

    await setPlan(app, id, planOf(2));
    clock.advance(CACHED_MS);
    expect(await limitPerMinute(app, key)).toMatchObject({ data: { minute: { limit: 2, remaining: 0 } } });
    const lowered = await look(app, key);
    expect(limitOf(lowered)).toBe('2');
    await expectError(lowered, 'rate_limit_exceeded');
    app.advanceLimiterClock(61_000);
    expect((await look(app, key)).status).toBe(404);
  });

  test('holds from the next request on where it is announced', async () => {
    await using app = await startTestApp();
    const { id, text: key } = await createKey(app.persistence, { plan: planOf(2) });
    expect(limitOf(await look(app, key))).toBe('2');
    await setPlan(app, id, { name: 'business' });
    app.forgetKey(id);
    expect(limitOf(await look(app, key))).toBe('1000');
  });

  test('lets as many long lists be read at a time as the plan says', async () => {
    const gate = Promise.withResolvers<void>();
    async function* chunks() {
      yield LIST_BEGIN;
      await gate.promise;
      yield LIST_END;
    }
    await using app = await startTestApp(listingOf(chunks));
    const { id, text: key } = await createKey(app.persistence, { plan: { name: 'business' } });
    const list = () => app.fetch('/v1/store/orders', { key });
    const lists = await Promise.all(Array.from({ length: 4 }, list));
    await expectError(await list(), 'too_many_in_flight');
    await setPlan(app, id, planOf(1_000));
    app.forgetKey(id);
    lists.push(...(await Promise.all(Array.from({ length: 12 }, list))));
    const statuses = lists.map(({ status }) => status);
    const refused = await list();
    gate.resolve();
    expect(statuses).toEqual(Array(16).fill(200));
    await expectError(refused, 'too_many_in_flight');
    for (const response of lists) expect(await response.text()).toBe('[]');
  });
});
