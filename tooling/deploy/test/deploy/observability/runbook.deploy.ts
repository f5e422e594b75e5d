import { openPersistence } from '@petstore/persistence';
import {
  createKey,
  importDemoOrders,
  KEYS,
  planOf,
  prepareServerDatabase,
  type TestKey,
} from '@petstore/server/test-support/database';
import { comparable, isAsShown, Reader, stepsIn } from '@petstore/server/test-support/documentation';
import { bearer, type StartedServer, startServer } from '@petstore/server/test-support/spawned-server';
import {
  PATIENCE_MS,
  type PrivatePostgres,
  type PrivateServer,
  startPostgresServer,
  startRedisServer,
} from '@petstore/testing';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SECTIONS, sectionOf } from '../../observability/support/committed-files.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
/** So many requests get a key banned whose plan has one request a minute. */
const REQUESTS_TO_BAN = 252;
/** How the runbook names the admin listener of a server, and a key. */
const DOCUMENTED = { adminHost: '127.0.0.1:3001', keyId: 'W2XCWm6f' };

const resources = new AsyncDisposableStack();
let postgres: PrivatePostgres;
let redis: PrivateServer;
let environment: { readonly DATABASE_URL: string; readonly REDIS_URL: string };
let server: StartedServer['server'];
/** One that was killed. */
let killed: StartedServer['server'];
/** Keys with one request a minute. */
let keys: readonly TestKey[];

beforeAll(async () => {
  postgres = resources.use(await startPostgresServer());
  redis = resources.use(await startRedisServer({ config: { 'enable-debug-command': 'yes' } }));
  const databaseUrl = new URL(postgres.url);
  databaseUrl.pathname = '/shop'; // as in the runbook
  await query(postgres.url, 'create database shop');
  await prepareServerDatabase(databaseUrl.href);
  await importDemoOrders(databaseUrl.href);
  environment = { DATABASE_URL: databaseUrl.href, REDIS_URL: redis.url };
  await using persistence = openPersistence({ databaseUrl: databaseUrl.href, patienceMs: PATIENCE_MS });
  keys = await Promise.all(Array.from({ length: 3 }, () => createKey(persistence, { plan: planOf(1) })));
  server = resources.use(await startServer(environment)).server;
  killed = resources.use(await startServer(environment)).server;
  await killed.adminUrl();
  await killed.stop('SIGKILL');
});
afterAll(() => resources.disposeAsync());

async function connectTo(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // the runbook may end its session
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end().catch(() => {}) });
}

async function query(url: string, ...statements: readonly string[]): Promise<void> {
  await using client = await connectTo(url);
  for (const statement of statements) await client.query(statement);
}

async function get(path: string, key: TestKey = KEYS.unlimited): Promise<void> {
  const response = await fetch((await server.url()) + path, { headers: bearer(key.text) });
  await response.arrayBuffer();
}

const untilStatus = (status: number) =>
  vi.waitUntil(async () => (await server.readiness()).status === status, PATIENTLY);

const untilLimits = (mode: string) =>
  vi.waitUntil(async () => (await server.readiness()).report['limits'] === mode, PATIENTLY);

/**
 * Brings about what a section is about, if its commands show more than numbers.
 *
 * @param undo what is to be done afterwards, the last first
 */
type Situation = (undo: AsyncDisposableStack) => Promise<unknown>;

const SITUATIONS: Readonly<Record<string, Situation>> = {
  PetstorePostgresDown(undo) {
    undo.defer(() => void postgres.resume());
    postgres.pause();
    return untilStatus(503);
  },
  async PetstoreNotReady(undo) {
    undo.defer(() => query(postgres.url, 'alter database shop reset default_transaction_read_only'));
    await query(
      postgres.url,
      'alter database shop set default_transaction_read_only = on',
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'petstore'`,
    );
    await untilStatus(503);
  },
  async PetstorePostgresSlow(undo) {
    const locker = undo.use(await connectTo(environment.DATABASE_URL));
    await locker.query('begin; lock table orders in access exclusive mode');
    const stop = new AbortController();
    const readRepeatedly = async () => {
      while (!stop.signal.aborted) await get('/v2/store/orders/1');
    };
    const reading = Promise.all([readRepeatedly(), readRepeatedly(), readRepeatedly()]);
    undo.defer(async () => {
      stop.abort();
      await reading;
    });
    const reads = 'petstore_postgres_statements_in_flight{purpose="requests"}';
    await vi.waitUntil(async () => Number((await server.metrics()).get(reads)) > 0, PATIENTLY);
  },
  async PetstoreErrorBudgetBurn(undo) {
    undo.defer(() => query(environment.DATABASE_URL, 'alter table pets rename column number to id'));
    await query(environment.DATABASE_URL, 'alter table pets rename column id to number');
    await get('/v1/pets/1');
  },
  async PetstoreBanSurge() {
    for (let i = 0; i < REQUESTS_TO_BAN; i++) await Promise.all(keys.map((key) => get('/v2/store/orders/1', key)));
  },
  PetstoreSunsetNear: () => get('/v1/pets/1'),
  async PetstoreLimitsDegraded(undo) {
    undo.defer(async () => {
      await redis.restart();
      await untilLimits('redis');
    });
    await redis.kill();
    await untilLimits('degraded');
  },
  async PetstoreRedisSlow(undo) {
    const client = new Redis(redis.url);
    undo.defer(() => client.disconnect());
    await client.call('DEBUG', 'SLEEP', 0.06);
    await get('/v2/store/orders/1');
  },
};

/** Leaves out what differs from run to run: times, all numbers, and alignment. */
const leavingOut = (text: string): string =>
  comparable(text)
    .replaceAll(/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00)?/g, '(time)')
    .replaceAll(/\b\d+(?:\.\d+)?(?:e-\d+)?\b/g, '#')
    .replaceAll(/-{2,}/g, '--')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ $/gm, '');

test.for([...SECTIONS.keys()])('the commands of %s print what the runbook shows', async (alert) => {
  await untilStatus(200); // after the section before
  await using undo = new AsyncDisposableStack();
  await SITUATIONS[alert]?.(undo);
  const isDown = alert === 'PetstoreDown' || alert === 'PetstoreServerUnavailable';
  const adminUrl = await (isDown ? killed : server).adminUrl();
  const key = alert === 'PetstoreBanSurge' ? keys[0] : KEYS.unlimited;
  await using reader = new Reader({
    url: await server.url(),
    dataFolder: '/nonexistent',
    demoKey: '',
    environment,
    names: { [DOCUMENTED.adminHost]: new URL(adminUrl).host, [DOCUMENTED.keyId]: key?.id ?? '' },
  });
  const section = sectionOf(alert);
  const steps = stepsIn(section);
  expect(steps).toHaveLength(section.match(/^\$ /gm)?.length ?? Number.NaN);
  for (const step of steps) {
    if (step.kind !== 'command') throw new Error(`the runbook asks for the file ${step.file}`);
    const { printed } = await reader.run(step.command);
    const shown = leavingOut(step.shown);
    expect(isAsShown(leavingOut(printed), shown), `$ ${step.command}\n${printed}\ninstead of\n${step.shown}`).toBe(
      true,
    );
  }
});
