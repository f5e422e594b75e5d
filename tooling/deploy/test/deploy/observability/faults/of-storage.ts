import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { importDemoOrders, prepareServerDatabase } from '@petstore/server/test-support/database';
import { startServer } from '@petstore/server/test-support/spawned-server';
import { type PrivatePostgres, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { vi } from 'vitest';
import type { FaultRecordings } from '../support/fault-recordings.ts';
import { WatchedServer } from '../support/watched-server.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
const DELAY_MS = 600;
/** Slow enough for PetstoreRequestsSlow (0.5 s), and not for PetstorePostgresSlow (1 s), which would hold it back. */
const SLOW_TRIGGER = `
  create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(0.6); return null; end';
  create trigger wait before insert or update on orders for each statement execute function wait()`;

/** Injects the faults of PostgreSQL. */
export async function recordFaultsOfStorage(recordings: FaultRecordings): Promise<void> {
  await using postgres = await startPostgresServer();
  const databaseUrl = await createShop(postgres);
  await using proxy = await DelayingProxy.to(databaseUrl);
  await using started = await startServer({ DATABASE_URL: proxy.url });
  const watched = await WatchedServer.of(started.server);
  const healthy = await watched.observe();
  const surroundings = { watched, environment: { DATABASE_URL: proxy.url } };
  const untilReady = () => vi.waitUntil(async () => (await watched.read('petstore_ready')) === 1, PATIENTLY);

  {
    await using administrator = await connectTo(databaseUrl);
    await administrator.query(SLOW_TRIGGER);
    // More changes at a time than there are connections for them would wait for one, and be slow for another reason.
    recordings.add('slow trigger', {
      healthy,
      faulty: await watched.observe({ ms: 5_000, rate: 30, delays: 'requests' }),
    });
    await recordings.follow('PetstoreRequestsSlow', surroundings);
    await administrator.query('drop function wait() cascade');
  }

  {
    await using administrator = await connectTo(databaseUrl);
    await administrator.query('alter table pets rename column name to title');
    const faulty = await watched.observe();
    recordings.add('column renamed', { healthy, faulty });
    const rarely = async () => {
      for (let i = 0; i < 200; i++) await watched.send(i % 100 === 0 ? '/v1/pets/1' : '/v2/store/orders/1');
    };
    recordings.add('column renamed, rarely read', {
      healthy,
      faulty: await watched.observe({ rate: 0, during: rarely }),
    });
    await recordings.follow('PetstoreErrorBudgetBurn', surroundings);
    await administrator.query('alter table pets rename column title to name');

    await administrator.query('alter database shop set default_transaction_read_only = on');
    await endSessions(databaseUrl);
    await vi.waitUntil(async () => (await watched.read('petstore_ready')) === 0, PATIENTLY);
    recordings.add('PostgreSQL read-only', { healthy, faulty: await watched.observe() });
    await recordings.follow('PetstoreNotReady', surroundings);
    await untilReady();
  }

  {
    await using locker = await connectTo(databaseUrl);
    await locker.query('begin; lock table orders in access exclusive mode');
    recordings.add('table locked', { healthy, faulty: await watched.observe({ ms: 4_000, delays: 'requests' }) });
    // The page shows requests that wait, which are there only while some are sent.
    const isWaiting = async () => (await watched.read('petstore_postgres_statements_in_flight{purpose="reads"}')) > 1;
    const during = async () => {
      await vi.waitUntil(isWaiting, PATIENTLY);
      await recordings.follow('PetstorePostgresSlow', surroundings);
    };
    await watched.observe({ during });
  }
  await watched.untilServed('/v1/store/orders');

  await watched.observe(); // opens connections, which the delay then applies to
  proxy.delay(DELAY_MS);
  recordings.add('slow network', { healthy, faulty: await watched.observe({ ms: 5_000, delays: 'requests' }) });
  proxy.delay(0);

  const isDown = () => vi.waitUntil(async () => (await watched.read('petstore_postgres_up')) === 0, PATIENTLY);
  postgres.pause();
  await isDown();
  recordings.add('PostgreSQL frozen', { healthy, faulty: await watched.observe() });
  await recordings.follow('PetstorePostgresDown', surroundings);
  postgres.resume();
  await untilReady();
  await postgres.kill();
  await isDown();
  recordings.add('PostgreSQL killed', { healthy, faulty: await watched.observe() });
}

/** Creates a database with demo orders, under a name such as an operator would choose. */
async function createShop(postgres: PrivatePostgres): Promise<string> {
  await using administrator = await connectTo(postgres.url);
  await administrator.query('create database shop');
  const url = new URL(postgres.url);
  url.pathname = '/shop';
  await prepareServerDatabase(url.href);
  await importDemoOrders(url.href);
  return url.href;
}

/** Opens a connection that others may end. */
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

/** A proxy in front of a server on this machine. It runs in a thread of its own, so that nothing else delays it. */
class DelayingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #worker: Worker;

  private constructor(url: string, worker: Worker) {
    this.url = url;
    this.#worker = worker;
  }

  /** @param target the URL of the server */
  static async to(target: string): Promise<DelayingProxy> {
    const url = new URL(target);
    const worker = new Worker(new URL('../support/delaying-proxy-worker.ts', import.meta.url), {
      workerData: Number(url.port),
    });
    const [port] = await once(worker, 'message');
    url.port = String(port);
    return new DelayingProxy(url.href, worker);
  }

  /** Delays what the server sends from now on. */
  delay(ms: number): void {
    this.#worker.postMessage(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
