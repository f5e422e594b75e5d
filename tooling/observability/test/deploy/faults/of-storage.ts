import { importDemoOrders, prepareServerDatabase, startServer } from '@petstore/server/test-support';
import { type PrivatePostgres, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { vi } from 'vitest';
import type { FaultBook } from '../support/fault-book.ts';
import { SlowWay } from '../support/slow-way.ts';
import { WatchedServer } from '../support/watched-server.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
const DELAY_MS = 600;
/** PetstoreRequestsSlow goes by half a second; PetstorePostgresSlow, which would come before it, by a whole one. */
const SLOW_TRIGGER = `
  create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(0.6); return null; end';
  create trigger wait before insert or update on orders for each statement execute function wait()`;

/** What concerns PostgreSQL. */
export async function recordFaultsOfStorage(book: FaultBook): Promise<void> {
  await using postgres = await startPostgresServer();
  const databaseUrl = await createShop(postgres);
  await using way = await SlowWay.to(databaseUrl);
  await using started = await startServer({ DATABASE_URL: way.url });
  const watched = await WatchedServer.of(started.server);
  const healthy = await watched.observe();
  const surroundings = { watched, environment: { DATABASE_URL: way.url } };
  const untilReady = () => vi.waitUntil(async () => (await watched.read('petstore_ready')) === 1, PATIENTLY);

  {
    await using administrator = await connectTo(databaseUrl);
    await administrator.query(SLOW_TRIGGER);
    book.add('slow trigger', { healthy, faulty: await watched.observe({ ms: 5_000 }) });
    await book.follow('requests-slow', surroundings);
    await administrator.query('drop function wait() cascade');
  }

  {
    await using administrator = await connectTo(databaseUrl);
    await administrator.query('alter table pets rename column name to title');
    const faulty = await watched.observe();
    book.add('column renamed', { healthy, faulty });
    const rarely = async () => {
      for (let i = 0; i < 200; i++) await watched.send(i % 100 === 0 ? '/v1/pets/1' : '/v2/store/orders/1');
    };
    book.add('column renamed, rarely read', { healthy, faulty: await watched.observe({ rate: 0, during: rarely }) });
    await book.follow('error-budget-burn', surroundings);
    await administrator.query('alter table pets rename column title to name');

    await administrator.query('alter database shop set default_transaction_read_only = on');
    await endSessions(databaseUrl);
    await vi.waitUntil(async () => (await watched.read('petstore_ready')) === 0, PATIENTLY);
    book.add('PostgreSQL read-only', { healthy, faulty: await watched.observe() });
    await book.follow('not-ready', surroundings);
    await untilReady();
  }

  {
    await using locker = await connectTo(databaseUrl);
    await locker.query('begin; lock table orders in access exclusive mode');
    book.add('table locked', { healthy, faulty: await watched.observe({ ms: 4_000 }) });
    await book.follow('postgres-slow', surroundings);
  }
  await watched.untilServed('/v1/store/orders');

  await watched.observe(); // opens the connections that the way is to be long for
  way.delay(DELAY_MS);
  book.add('slow network', { healthy, faulty: await watched.observe({ ms: 5_000 }) });
  way.delay(0);

  const isDown = () => vi.waitUntil(async () => (await watched.read('petstore_postgres_up')) === 0, PATIENTLY);
  postgres.pause();
  await isDown();
  book.add('PostgreSQL frozen', { healthy, faulty: await watched.observe() });
  await book.follow('postgres-down', surroundings);
  postgres.resume();
  await untilReady();
  await postgres.kill();
  await isDown();
  book.add('PostgreSQL killed', { healthy, faulty: await watched.observe() });
}

/** A database as an operator names it, with demo orders. */
async function createShop(postgres: PrivatePostgres): Promise<string> {
  await using administrator = await connectTo(postgres.url);
  await administrator.query('create database shop');
  const url = new URL(postgres.url);
  url.pathname = '/shop';
  await prepareServerDatabase(url.href);
  await importDemoOrders(url.href);
  return url.href;
}

/** A connection that may be ended by others. */
async function connectTo(databaseUrl: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => {});
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end().catch(() => {}) });
}

async function endSessions(databaseUrl: string): Promise<void> {
  await using administrator = await connectTo(databaseUrl);
  await administrator.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'petstore'`,
  );
}
