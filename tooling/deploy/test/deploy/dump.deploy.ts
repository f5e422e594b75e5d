import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createPetstoreClient, type PetstoreClient } from '@petstore/client';
import { createTemporaryFolder, type PrivatePostgres, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useBuiltFolder } from '../support/built-folder.ts';
import { Program } from '../support/program.ts';

// The statements and commands of the operators' guide, by the programs of the PostgreSQL that the servers are of.

const GUIDE = readFileSync(join(import.meta.dirname, '../../../../docs/operations.md'), 'utf8');
const blockThatBegins = (text: string): string => {
  const block = Array.from(GUIDE.matchAll(/^```(?:sh|sql)\n(?<content>[\s\S]*?)^```$/gm)).find(({ groups }) =>
    groups?.['content']?.startsWith(text),
  );
  if (block === undefined) throw new Error(`docs/operations.md has no block that begins with ${text}`);
  return block.groups?.['content'] ?? '';
};

type Role = 'petstore_owner' | 'petstore_server' | 'petstore_backup';

const ORDERS = 50_000;
const WORKERS = 4;

const resources = new AsyncDisposableStack();
const temporary = resources.use(createTemporaryFolder());
const built = useBuiltFolder();

/** A database `shop` of its own, with the roles of the guide. */
class Shop {
  readonly #server: PrivatePostgres;

  constructor(server: PrivatePostgres) {
    this.#server = server;
  }

  static async create(): Promise<Shop> {
    const server = resources.use(await startPostgresServer());
    const shop = new Shop(server);
    shop.psql(server.url, blockThatBegins('create role'));
    const roles = ['petstore_owner', 'petstore_server', 'petstore_backup'] as const;
    shop.psql(server.url, roles.map((role) => `alter role ${role} password 'secret';`).join('\n'));
    return shop;
  }

  urlFor(role: Role): string {
    return Object.assign(new URL(this.#server.url), { username: role, password: 'secret', pathname: '/shop' }).href;
  }

  /** As the superuser. */
  get url(): string {
    return Object.assign(new URL(this.#server.url), { pathname: '/shop' }).href;
  }

  /** For a shell that finds the programs of this server first. */
  get environment(): Record<string, string> {
    return { PATH: `${dirname(this.#server.cluster.programs.postgres)}:/usr/bin:/bin` };
  }

  psql(url: string, statements: string): void {
    execFileSync('psql', ['--quiet', '--set=ON_ERROR_STOP=1', url], { input: statements, env: this.environment });
  }

  grant(): void {
    this.psql(this.urlFor('petstore_owner'), blockThatBegins('grant select on schema_migrations'));
  }

  /** Runs the command line of the built folder. */
  petstore(role: Role, ...args: readonly string[]): string {
    const env = { DATABASE_URL: this.urlFor(role), MIGRATE: role === 'petstore_owner' ? 'on' : 'off' };
    return execFileSync(process.execPath, [built('petstore.js'), ...args], { env, cwd: '/', encoding: 'utf8' });
  }

  /** Starts a server of the built folder, and gives a client of it. */
  async serve(apiKey: string): Promise<PetstoreClient> {
    const settings = { DATABASE_URL: this.urlFor('petstore_server'), MIGRATE: 'off', PORT: '0' };
    const server = resources.use(new Program([process.execPath, built('server.js')], settings));
    return createPetstoreClient({ baseUrl: (await server.urls()).publicUrl, apiKey });
  }
}

/** Places and changes orders until it is ended. */
class Traffic {
  readonly placed: bigint[] = [];
  readonly #done: Promise<unknown>;
  #isEnding = false;

  constructor(client: PetstoreClient) {
    this.#done = Promise.all(Array.from({ length: WORKERS }, () => this.#work(client)));
    this.#done.catch(() => {}); // whoever ends it gets the error
  }

  async #work({ orders }: PetstoreClient): Promise<void> {
    for (let i = 0; !this.#isEnding; i++) {
      const { id } = await orders.place.mutate({ petId: 7n, quantity: 1 });
      if (i % 2 === 0) await orders.cancel.mutate({ orderId: id });
      this.placed.push(id);
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#done;
  }
}

const TABLES = `select oid::regclass::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`;

/** How many rows each table has, and a digest of all that is in them. */
async function digestsOf(client: pg.Client): Promise<Record<string, readonly string[]>> {
  const { rows: tables } = await client.query<[string]>({ text: TABLES, rowMode: 'array' });
  const digests: Record<string, readonly string[]> = {};
  for (const [table] of tables) {
    const text = `select count(*), md5(string_agg(t::text, ';' order by t::text)) from ${table} t`;
    const { rows } = await client.query<[string, string]>({ text, rowMode: 'array' });
    digests[table] = rows[0] ?? [];
  }
  return digests;
}

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  resources.defer(() => client.end());
  return client;
}

const one = async (client: pg.Client, text: string): Promise<string> =>
  (await client.query<[string]>({ text, rowMode: 'array' })).rows[0]?.[0] ?? '';

async function restoreInto(shop: Shop): Promise<void> {
  const env = { ...shop.environment, NEW_DATABASE_URL: shop.urlFor('petstore_owner') };
  await promisify(execFile)('sh', ['-ec', blockThatBegins('pg_restore')], { cwd: temporary.path, env });
}

let source: Shop;
let target: Shop;
let sourceClient: PetstoreClient;
let targetClient: PetstoreClient;
let key: { readonly id: string; readonly key: string };
let traffic: Traffic;
/** What each table held at the moment of which the dump is. */
let atTheMoment: Record<string, readonly string[]>;
let placedBefore: readonly bigint[];
let placedMeanwhile: number;
beforeAll(async () => {
  [source, target] = await Promise.all([Shop.create(), Shop.create()]);
  source.petstore('petstore_owner', 'migrate', '--json');
  source.grant();
  source.petstore('petstore_server', 'orders', 'generate', '--count', `${ORDERS}`, '--seed', '1');
  const limits = ['--per-minute', '1000000', '--per-day', '100000000'];
  const plan = ['--plan', 'enterprise', '--internal', ...limits];
  key = JSON.parse(source.petstore('petstore_server', 'keys', 'create', '--json', ...plan));
  // What extensions and other programs have in a database, only their owners may read.
  const superuser = await connectTo(source.url);
  await superuser.query(
    'create schema of_others; create table of_others.theirs (id integer); create extension pg_trgm',
  );
  sourceClient = await source.serve(key.key);
  traffic = new Traffic(sourceClient);
  await vi.waitUntil(() => traffic.placed.length > 100, { timeout: 60_000 });

  // One moment for the dump and for what it is compared with.
  const witness = await connectTo(source.url);
  await witness.query('begin isolation level repeatable read, read only');
  placedBefore = [...traffic.placed];
  const snapshot = await one(witness, 'select pg_export_snapshot()');
  await new Promise((resolve) => setTimeout(resolve, 200)); // so that more is recorded that the dump must not hold
  const dump = blockThatBegins('pg_dump').replace('pg_dump ', `pg_dump --snapshot=${snapshot} `);
  const inShell = { ...source.environment, DATABASE_URL: source.urlFor('petstore_backup') };
  const before = traffic.placed.length;
  await promisify(execFile)('sh', ['-ec', dump], { cwd: temporary.path, env: inShell });
  placedMeanwhile = traffic.placed.length - before;
  atTheMoment = await digestsOf(witness);
  await witness.query('commit');
  await traffic.end();

  await restoreInto(target);
  target.grant();
  targetClient = await target.serve(key.key);
}, 120_000);
afterAll(() => resources.disposeAsync());

test('a dump of a database in use is of one moment, and restores every row of every table', async () => {
  expect(placedMeanwhile).toBeGreaterThan(0);
  const restored = await connectTo(target.url);
  expect(await digestsOf(restored)).toEqual(atTheMoment);
  expect(Number(atTheMoment['orders']?.[0])).toBeGreaterThanOrEqual(ORDERS + placedBefore.length);
  const wanted = placedBefore.join(',');
  expect(Number(await one(restored, `select count(*) from orders where id in (${wanted})`))).toBe(placedBefore.length);
  const { rows } = await restored.query(
    `select orders.id, orders.status, latest.status as logged from orders left join
       (select distinct on (order_id) order_id, status from order_events order by order_id, id desc) latest
       on order_id = orders.id
     where orders.status is distinct from latest.status`,
  );
  expect(rows, 'orders that are not as their last event left them').toEqual([]);
});

test('the restored tables are those of a migrated database', () => {
  const status = JSON.parse(target.petstore('petstore_owner', 'migrate', '--status', '--json'));
  expect(status).toEqual(JSON.parse(source.petstore('petstore_owner', 'migrate', '--status', '--json')));
  expect(status).toMatchObject({ pending: [] });
  expect(status).not.toHaveProperty('sequencesBehind');
});

test('keys are valid, and the audit is there', async () => {
  const [placed] = placedBefore;
  const audit = (shop: Shop, ...args: string[]) =>
    JSON.parse(shop.petstore('petstore_server', 'audit', '--json', ...args));
  let count = 0;
  for await (const batch of await targetClient.orders.list.query()) count += batch.length;
  expect(count).toBe(Number(atTheMoment['orders']?.[0]));
  const ofOrder = audit(target, '--order', `${placed}`);
  expect(ofOrder.length).toBeGreaterThan(0);
  expect(ofOrder).toEqual(audit(source, '--order', `${placed}`));
  expect(audit(target, '--key', key.id, '--limit', '1000000')).toContainEqual(
    expect.objectContaining({ action: 'key.created' }),
  );
});

test('a consumer that has read to the last event of the dump goes on behind it; one that has read further is refused', async () => {
  const restored = await connectTo(target.url);
  const lastEvent = await one(restored, 'select max(id) from order_events');
  const lastOrder = BigInt(await one(restored, 'select max(id) from orders'));
  const later = await one(await connectTo(source.url), 'select max(id) from order_events');
  expect(BigInt(later)).toBeGreaterThan(BigInt(lastEvent));
  await expect(targetClient.events({ after: later }).next()).rejects.toMatchObject({ code: 'invalid_request' });

  const following = targetClient.events({ after: lastEvent });
  const placed = await targetClient.orders.place.mutate({ petId: 7n, quantity: 2 });
  expect(placed.id).toBeGreaterThan(lastOrder);
  const { value } = await following.next();
  expect(value).toMatchObject({ type: 'order.placed', orderId: placed.id, order: { quantity: 2 } });
  expect(BigInt(value?.id ?? 0)).toBeGreaterThan(BigInt(lastEvent));
  await following.return();
});

test('a database that has the tables already is left as it is', async () => {
  const client = await connectTo(target.url);
  const before = await digestsOf(client);
  await expect(restoreInto(target)).rejects.toThrow('already exists');
  expect(await digestsOf(client)).toEqual(before);
});
