import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { actor, type IdempotencyKey, orderId, SERVICE_ORIGIN } from '@petstore/domain';
import { createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, NOW, newKey, newOrder, runSql, UNKNOWN_KEY_ID, WAYS, type Way } from './support.ts';

// The statements of the operators' guide, on roles and a database of the test's own.

const document = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const blockThatBegins = (statement: string) => {
  const block = document.split('```sql\n').find((text) => text.startsWith(statement));
  if (block === undefined) throw new Error(`docs/operations.md has no block that begins with ${statement}`);
  return block.slice(0, block.indexOf('```')).replaceAll(/\bpetstore_\w+/g, ownName);
};

const suffix = randomUUID().replaceAll('-', '');
const ownName = (role: string) => `${role}_${suffix}`;
const ROLES = ['petstore_owner', 'petstore_server', 'petstore_backup'] as const;

const resources = new AsyncDisposableStack();
let open: (role: (typeof ROLES)[number]) => { readonly url: string; readonly persistence: Persistence };
let owner: ReturnType<typeof open>;
let server: ReturnType<typeof open>;
let backup: ReturnType<typeof open>;
beforeAll(async () => {
  const { url } = resources.use(await createTestDatabase());
  const name = new URL(url).pathname.slice(1);
  const roles = ROLES.map(ownName);
  const asSuperuser = (text: string) => runSql(url, text);
  // The database exists already, and belongs to another role.
  await asSuperuser(
    blockThatBegins('create role').replace('create database shop owner', `alter database ${name} owner to`),
  );
  for (const role of roles) await asSuperuser(`alter role ${role} password 'secret'`);
  resources.defer(async () => {
    await asSuperuser(`alter database ${name} owner to current_user; drop owned by ${roles}; drop role ${roles}`);
  });
  open = (role) => {
    const own = Object.assign(new URL(url), { username: ownName(role), password: 'secret' });
    return { url: own.href, persistence: resources.use(openPersistence({ databaseUrl: own.href })) };
  };
  [owner, server, backup] = [open('petstore_owner'), open('petstore_server'), open('petstore_backup')];
  await owner.persistence.migrations.migrate();
  await runSql(owner.url, blockThatBegins('grant select on schema_migrations'));
});
afterAll(() => resources.disposeAsync());

const isOfServers = (name: string) => name !== 'migrations.migrate';

test.each(Object.entries<Way>(WAYS).filter(([name]) => isOfServers(name)))(
  'the role of servers is enough for %s',
  async (_, way) => void (await way(server.persistence)),
);

test('the role of servers is enough for what is rare: orders placed again, sequences that are behind, old events, rotated keys', async () => {
  const { orders, events, keyAdministration, sequences } = server.persistence;
  const origin = { actor: actor('key', UNKNOWN_KEY_ID) };
  for (let i = 0; i < 2; i++) await orders.insertOrder(newOrder(), origin, 'place' as IdempotencyKey);
  await runSql(
    owner.url,
    `insert into orders (id, pet_id, quantity, status, complete, placed_at)
     select i, 1, 1, 'pending', false, now() from generate_series(100, 5000) i; select setval('orders_id_seq', 100)`,
  );
  expect(await sequences.align()).toEqual(new Map());
  expect((await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order.id).toBe(5_001n);
  const later = new Date(NOW.getTime() + 1e9);
  expect(
    await events.deleteExpired({ eventsBefore: later, now: later, signal: AbortSignal.timeout(20_000) }),
  ).toBeGreaterThan(0);
  const key = newKey();
  await keyAdministration.createKey(key, randomBytes(32));
  for (let i = 0; i < 3; i++) {
    await keyAdministration.rotateKey(key.id, { secretHash: randomBytes(32), now: NOW, overlapEndsAt: NOW });
  }
  await keyAdministration.setPlan(key.id, { name: 'pro' }, NOW);
});

test.each([
  'delete from orders',
  'truncate orders',
  'delete from api_keys',
  'delete from key_events',
  'update key_events set actor = actor',
  'update order_events set actor = actor',
  'update pets set name = name',
  'create table mine (id int)',
  'drop table pets',
])('the role of servers may not: %s', async (statement) => {
  await expect(runSql(server.url, statement)).rejects.toMatchObject({ code: '42501' });
});

test('the role of backups reads everything that is kept, and changes nothing', async () => {
  const client = new pg.Client(backup.url);
  await client.connect();
  const { rows } = await client
    .query<{ name: string; isReadable: boolean }>(
      `select relname as name, case relkind
         when 'S' then has_sequence_privilege(oid, 'select')
         else has_table_privilege(oid, 'select')
       end as "isReadable"
       from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`,
    )
    .finally(() => client.end());
  const readable = rows.filter(({ isReadable }) => isReadable).map(({ name }) => name);
  expect(readable).toEqual(rows.map(({ name }) => name));
  expect(readable).toEqual(expect.arrayContaining(['orders', 'order_events', 'api_key_secrets', 'orders_id_seq']));
  const { orders } = backup.persistence;
  expect(await collect(orders.listOrders())).not.toEqual([]);
  await expect(orders.applyCommand(orderId(1n), 'cancel', NOW, SERVICE_ORIGIN)).rejects.toMatchObject({
    code: '42501',
  });
  await expect(runSql(backup.url, 'delete from pets')).rejects.toMatchObject({ code: '42501' });
});
