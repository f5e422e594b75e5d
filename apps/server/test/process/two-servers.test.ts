import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient, EventsExpiredError } from '@petstore/client';
import { SERVICE_ACTOR, subjectNameOf } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import { connectToAdministrate } from '@petstore/rate-limit';
import { PATIENCE_MS, PATIENTLY, startRedisServer } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { composeServer } from '../support/composed-server.ts';
import { createServerDatabase, KEYS } from '../support/database.ts';
import type { ObservedServer } from '../support/observed-server.ts';
import { startServer } from '../support/spawned-server.ts';

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
const redis = resources.use(await startRedisServer());
const database = resources.use(await createServerDatabase());

/** Two servers that share PostgreSQL and Redis, and nothing else: the second one is another process. */
let servers: readonly ObservedServer[];
beforeAll(async () => {
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, EVENTS_RETENTION: '1s' };
  const started = await Promise.all([composeServer(environment), startServer(environment)]);
  for (const each of started) resources.use(each);
  servers = started.map(({ server }) => server);
  const isCounting = async (server: ObservedServer) => (await server.readiness()).report['limits'] === 'redis';
  for (const server of servers) await vi.waitUntil(() => isCounting(server), PATIENTLY);
});

/** The sum over both servers. */
async function total(series: string): Promise<number> {
  const metrics = await Promise.all(servers.map((server) => server.metrics()));
  return metrics.reduce((sum, samples) => sum + (samples.get(series) ?? Number.NaN), 0);
}

const decisions = (plan: string, window: string, outcome: string) =>
  `petstore_rate_limit_decisions_total{plan="${plan}",window="${window}",outcome="${outcome}"}`;

const checksIn = (place: string) => `petstore_rate_limit_checks_total{decided="${place}"}`;

const linesOf = (message: string) => servers.flatMap((server) => server.logLines(message));

/** @returns the outcome: `admitted`, or the code of the error */
async function request(server: ObservedServer | undefined, key?: string): Promise<string> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${await server?.url()}/v1/store/orders`, { headers });
  if (response.status === 200) return response.text().then(() => 'admitted');
  const { code } = (await response.json()) as { code: string }; // as documented
  return code;
}

/** Sends so many requests to the servers in turn, up to ten at once. */
async function send(count: number, key?: string): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>();
  for (let sent = 0; sent < count; sent += 10) {
    const batch = Array.from({ length: Math.min(10, count - sent) }, (_, i) => request(servers[i % 2], key));
    for (const outcome of await Promise.all(batch)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  return outcomes;
}

describe('two servers on one Redis', () => {
  test('count each request once, by plan, window and outcome', async () => {
    const sent = await send(610);
    expect([...sent.keys()].toSorted()).toEqual(['missing_api_key', 'rate_limit_exceeded']);
    expect(await total(decisions('address', 'none', 'admitted'))).toBe(sent.get('missing_api_key'));
    expect(await total(decisions('address', 'minute', 'rate_limit_exceeded'))).toBe(sent.get('rate_limit_exceeded'));

    const ofKey = new Map<string, number>();
    let sentOfKey = 0;
    for (; !ofKey.has('api_key_banned') && sentOfKey < 2_000; sentOfKey += 50) {
      for (const [outcome, count] of await send(50, KEYS.free.text)) {
        ofKey.set(outcome, (ofKey.get(outcome) ?? 0) + count);
      }
    }
    expect([...ofKey.keys()].toSorted()).toEqual(['admitted', 'api_key_banned', 'rate_limit_exceeded']);
    expect(await total(decisions('free', 'none', 'admitted'))).toBe(ofKey.get('admitted'));
    expect(await total(decisions('free', 'minute', 'rate_limit_exceeded'))).toBe(ofKey.get('rate_limit_exceeded'));
    expect(await total(decisions('free', 'none', 'api_key_banned'))).toBe(ofKey.get('api_key_banned'));

    const checks = await Promise.all(['redis', 'process', 'memory'].map((place) => total(checksIn(place))));
    expect(checks.reduce((sum, count) => sum + count)).toBe(610 + sentOfKey);
    expect(checks[0]).toBeGreaterThan(250);
    expect(await total('petstore_rate_limit_redis_call_duration_seconds_count')).toBeGreaterThan(0);
    expect(await total('petstore_rate_limit_redis_call_duration_seconds_sum')).toBeGreaterThan(0);
  });

  test('say once that a key was banned, and count it as banned', async () => {
    const { id, text } = KEYS.free;
    expect(linesOf('a key was banned')).toEqual([
      {
        level: 'warn',
        time: expect.any(String),
        keyId: id,
        banLevel: 1,
        until: expect.stringMatching(/^\d{4}-.*Z$/),
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: expect.any(String),
        msg: 'a key was banned',
      },
    ]);
    expect(await total('petstore_bans_set_total{level="1"}')).toBe(1);
    await using persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
    const audited = () => persistence.audit.read({ keyId: id, limit: 1 });
    await expect.poll(audited).toEqual([{ at: expect.any(Date), action: 'ban.set', keyId: id, actor: SERVICE_ACTOR }]);
    expect(await total('petstore_keys_banned')).toBe(2);
    for (const { stdout } of servers) expect(stdout).not.toContain(text.slice(-20));
  });

  test('count the banned keys without one whose ban was lifted elsewhere', async () => {
    await using administration = await connectToAdministrate({
      type: 'single',
      host: '127.0.0.1',
      port: redis.port,
      database: 0,
      tls: false,
    });
    expect(await administration.liftBan(subjectNameOf(KEYS.free.id))).toMatchObject({ level: 1 });
    expect(await total('petstore_keys_banned')).toBe(0);
    expect(linesOf('a key was banned')).toHaveLength(1);
  });

  test('add up how long Redis is unavailable, and no longer, and how often', async () => {
    const [server] = servers;
    const read = async (series: string) => (await server?.metrics())?.get(series) ?? Number.NaN;
    const degradedSeconds = () => read('petstore_limits_degraded_seconds_total');
    const fallbacks = () => read('petstore_limits_fallbacks_total');
    const limits = async () => (await server?.readiness())?.report['limits'];
    // The address is over its limit: so is what it may look up, until the present second ends.
    await expect.poll(() => request(server, KEYS.unlimited.text)).toBe('admitted');
    const atFirst = await degradedSeconds();
    const fallbacksAtFirst = await fallbacks();
    redis.pause();
    for (let i = 0; i < 6; i++) expect(await request(server, KEYS.unlimited.text)).toBe('admitted');
    expect(await limits()).toBe('degraded');
    expect(await read(checksIn('process'))).toBeGreaterThan(0);
    const beforeMs = performance.now();
    const before = await degradedSeconds();
    await sleep(300);
    const rise = (await degradedSeconds()) - before;
    expect(rise).toBeGreaterThan(0.29);
    expect(rise).toBeLessThan((performance.now() - beforeMs) / 1_000);
    redis.resume();
    await vi.waitUntil(async () => (await limits()) === 'redis', PATIENTLY);
    const after = await degradedSeconds();
    expect(after - atFirst).toBeGreaterThan(rise);
    await sleep(100);
    expect(await degradedSeconds()).toBe(after);
    expect(await fallbacks()).toBe(fallbacksAtFirst + 1);
  });

  test('deliver each other’s events, count them, and delete them after EVENTS_RETENTION', async () => {
    const clientOf = async (server: ObservedServer) =>
      createPetstoreClient({ baseUrl: await server.url(), apiKey: KEYS.internal.text });
    const [writing, reading] = servers as [ObservedServer, ObservedServer]; // two
    const [writer, reader] = await Promise.all([clientOf(writing), clientOf(reading)]);
    const { promise: begun, resolve: onBegin } = Promise.withResolvers<string>();
    const events = reader.events({ onBegin });
    const first = events.next();
    const followers = async () => (await reading.metrics()).get('petstore_http_waiting');
    await begun;
    await vi.waitFor(async () => expect(await followers()).toBe(1), PATIENTLY);
    const order = await writer.orders.place.mutate({ petId: 7n, quantity: 1 });
    await writer.orders.ship.mutate({ orderId: order.id });
    expect((await first).value).toMatchObject({ type: 'order.placed', orderId: order.id });
    expect((await events.next()).value).toMatchObject({ type: 'order.shipped', orderId: order.id });
    const [written, read] = await Promise.all([writing.metrics(), reading.metrics()]);
    expect(written.get('petstore_order_events_recorded_total')).toBe(2);
    expect(read.get('petstore_order_events_recorded_total')).toBe(0);
    await vi.waitFor(
      async () => {
        const begun = reader.events({ after: '1', signal: AbortSignal.timeout(1_000) });
        await expect(begun.next()).rejects.toThrow(EventsExpiredError);
      },
      { timeout: 20_000, interval: 200 },
    );
    await events.return();
    await vi.waitFor(async () => expect(await followers()).toBe(0), PATIENTLY);
  });

  test.each([
    ['by the same server', 0],
    ['by the other one', 1],
  ])('tell a change that was made %s at once', async (_, writing) => {
    const [writer, reader] = [servers[writing], servers[0]] as [ObservedServer, ObservedServer]; // two
    const apiKey = KEYS.internal.text;
    const { orders } = createPetstoreClient({ baseUrl: await writer.url(), apiKey });
    const path = `${await reader.url()}/v2/store/order-events?wait=50`;
    const headers = { authorization: `Bearer ${apiKey}` };
    const isWaiting = async () => (await reader.metrics()).get('petstore_http_waiting') === 1;
    const waitedMs: number[] = [];
    let after = '';
    for (let i = 0; i < 5; i++) {
      const waiting = fetch(path + after, { headers });
      await vi.waitUntil(isWaiting, PATIENTLY);
      await orders.place.mutate({ petId: 7n, quantity: 1 });
      const beganMs = performance.now();
      const { events, nextAfter } = await (await waiting).json();
      waitedMs.push(performance.now() - beganMs);
      expect(events).toHaveLength(1);
      after = `&after=${nextAfter}`;
    }
    // The look before answered the last call, so the next one by the clock would come half a second after it.
    expect(Math.min(...waitedMs.slice(1))).toBeLessThan(200);
  });

  test('describe each metric, and name it as Prometheus does', async () => {
    const text = await (await fetch(`${await servers[0]?.adminUrl()}/metrics`)).text();
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
    expect([...types.keys()].filter((name) => name.startsWith('petstore_')).length).toBeGreaterThan(10);
    for (const [name, type] of types) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(/_(count|sum|bucket)$/.test(name), name).toBe(false);
    }
    for (const [, name = ''] of text.matchAll(/^([a-z]\w+)/gm)) {
      expect(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, '')), name).toBe(true);
    }
    expect(new Set(types.keys()).size, 'each once').toBe([...text.matchAll(/^# TYPE /gm)].length);
  });
});
