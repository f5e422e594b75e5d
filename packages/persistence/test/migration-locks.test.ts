import { Migration } from '@mikro-orm/migrations';
import { createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../src/database/database.ts';
import { MIGRATION_NAMES, MIGRATIONS, type MigrationEntry } from '../src/schema/migration-list.ts';
import { changeCheck } from '../src/schema/migrations/change-check.ts';
import { createOrm } from '../src/schema/orm.ts';
import { runMigrations } from '../src/schema/run-migrations.ts';
import { useTestStore } from './support.ts';

// Each migration runs while servers of the release before serve, and go on afterwards. What it does to them is seen on a
// real database of that release: which locks it takes, and what it does while it has them.

interface Table {
  readonly name: string;
  /** Changes when the table is written anew. */
  readonly file: string;
  /** Its columns, and whether an insert that does not name them works. */
  readonly columns: Readonly<Record<string, { readonly type: string; readonly isOptional: boolean }>>;
}

/** What statements do to tables that were there before: nothing, where servers of the release before do not notice. */
async function effectsOf(client: pg.Client, statements: readonly string[]): Promise<readonly string[]> {
  await client.query('begin');
  try {
    const before = await readTables(client);
    const workBefore = await readWork(client);
    for (const statement of statements) await client.query(statement);
    const after = new Map((await readTables(client)).map((table) => [table.name, table]));
    const locked = await readLockedTables(client);
    const work = await readWork(client);
    return before.flatMap((table) => {
      const [then = NO_WORK, now = NO_WORK] = [workBefore.get(table.name), work.get(table.name)];
      return [
        ...(locked.has(table.name) && now.reads > then.reads ? [`${table.name} is locked while it is read`] : []),
        ...(now.changes > then.changes ? [`rows of ${table.name} are changed`] : []),
        ...compareTables(table, after.get(table.name)),
      ];
    });
  } finally {
    await client.query('rollback');
  }
}

function compareTables(before: Table, after: Table | undefined): readonly string[] {
  const { name } = before;
  if (after === undefined) return [`${name} is gone`];
  const names = new Set([...Object.keys(before.columns), ...Object.keys(after.columns)]);
  return [
    ...(after.file === before.file ? [] : [`${name} is written anew`]),
    ...[...names].flatMap((column) => {
      const [old, now] = [before.columns[column], after.columns[column]];
      if (now === undefined) return [`${name}.${column} is gone`];
      if (old === undefined) return now.isOptional ? [] : [`${name}.${column} is new, and what inserts must know it`];
      if (old.type !== now.type) return [`${name}.${column} has another type`];
      return old.isOptional && !now.isOptional ? [`${name}.${column} may not be left out any more`] : [];
    }),
  ];
}

async function readTables(client: pg.Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(`
    select c.relname as name, pg_relation_filenode(c.oid)::text as file,
      jsonb_object_agg(a.attname, jsonb_build_object(
        'type', format_type(a.atttypid, a.atttypmod),
        'isOptional', not a.attnotnull or a.atthasdef or a.attidentity <> ''
      )) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
    group by c.oid order by c.relname`);
  return rows;
}

/** Tables that no other session can write to. */
async function readLockedTables(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(`
    select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
    where l.pid = pg_backend_pid()
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`);
  return new Set(rows.map(({ name }) => name));
}

/** How often a table was read whole, and how many rows were changed, by this session. */
interface Work {
  readonly reads: number;
  readonly changes: number;
}

const NO_WORK: Work = { reads: 0, changes: 0 };

async function readWork(client: pg.Client): Promise<ReadonlyMap<string, Work>> {
  const { rows } = await client.query<Work & { name: string }>(`
    select relname as name, seq_scan::integer as reads, (n_tup_upd + n_tup_del)::integer as changes
    from pg_stat_xact_user_tables`);
  return new Map(rows.map((row) => [row.name, row]));
}

/** Orders and a key, so that there is something to read. */
const ROWS = `
  insert into orders (pet_id, quantity, status, complete, placed_at) values (1, 1, 'pending', false, now());
  insert into api_keys (id, name, kind, read_only, plan, created_at) values ('abcdefgh', 'a key', 'external', false, 'free', now())`;

/** What each migration but the first, before which there is no release, does to servers of the release before it. */
async function effectsOfMigrations(migrations: Migrations): Promise<Readonly<Record<string, readonly string[]>>> {
  const effects: Record<string, readonly string[]> = {};
  for (const [i, [name, { load }]] of Object.entries(migrations).entries()) {
    if (i === 0) continue;
    await using database = await createTestDatabase();
    const migrated = new Database({ databaseUrl: database.url });
    await runMigrations(migrated, 'public', { migrations: Object.fromEntries(Object.entries(migrations).slice(0, i)) });
    await migrated.close();
    const orm = createOrm();
    const MigrationClass = await load();
    const migration = new MigrationClass(orm.em.getDriver(), orm.config);
    await migration.up();
    const statements = migration.getQueries().map(String);
    if (!migration.isTransactional()) {
      effects[name] = statements.filter((statement) => !/\bconcurrently\b/.test(statement));
      continue;
    }
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(ROWS);
    effects[name] = await effectsOf(client, statements).finally(() => client.end());
  }
  return effects;
}

type Migrations = Readonly<Record<string, MigrationEntry>>;

const entry = (migration: Awaited<ReturnType<MigrationEntry['load']>>): MigrationEntry => ({
  load: async () => migration,
  oldestCompatibleMigration: '0001-initial-schema',
});

/** A migration that might come next. */
const next = (statement: string, isTransactional = true): MigrationEntry =>
  entry(
    class extends Migration {
      override up(): void {
        this.addSql(statement);
      }
      override isTransactional(): boolean {
        return isTransactional;
      }
    },
  );

const SMALL_ORDERS = changeCheck({
  table: 'orders',
  name: 'orders_quantity_check',
  expression: 'quantity between 1 and 1000',
});

test('servers of the release before do not notice a migration', async () => {
  const effects = await effectsOfMigrations({
    ...MIGRATIONS,
    'a column': next('alter table orders add column note text'),
    'an index': next('create index concurrently orders_note_index on orders (note)', false),
    'an index that locks': next('create index on orders (note)', false),
    'no column': next('alter table orders drop column note'),
    'a check that changes': entry(SMALL_ORDERS.Change),
    'the rows before it': entry(SMALL_ORDERS.Validate),
  });
  expect(effects).toEqual({
    ...Object.fromEntries(MIGRATION_NAMES.slice(1).map((name) => [name, []])),
    'a column': [],
    'an index': [],
    'an index that locks': ['create index on orders (note)'],
    'no column': ['orders.note is gone'],
    'a check that changes': [],
    'the rows before it': [],
  });
});

describe('what they would notice is found', () => {
  const store = useTestStore();
  let client: pg.Client;
  beforeAll(async () => {
    client = new pg.Client(store.url);
    await client.connect();
    await client.query(ROWS);
  });
  afterAll(() => client.end());

  test.each([
    ['create index on orders (placed_at)', 'orders is locked while it is read'],
    ['alter table orders alter ship_date set not null', 'orders is locked while it is read'],
    ['alter table orders add foreign key (pet_id) references pets', 'orders is locked while it is read'],
    ['alter table orders alter quantity type bigint', 'orders is written anew'],
    ['update orders set quantity = 2', 'rows of orders are changed'],
    ['alter table orders drop column ship_date', 'orders.ship_date is gone'],
    ['alter table api_keys alter id type varchar(8)', 'api_keys.id has another type'],
    ['alter table pets add column owner text not null', 'pets.owner is new, and what inserts must know it'],
    ['alter table pets rename to animals', 'pets is gone'],
  ])('%s', async (statement, effect) => {
    const effects = await effectsOf(client, [statement]).catch(explainMissingRows);
    expect(effects).toContain(effect);
  });

  test.each([
    'alter table orders add column note text',
    'alter table orders add column gift boolean not null default false',
    'alter table orders add constraint later check (quantity < 100) not valid',
    'create table notes (order_id bigint primary key, note text not null)',
  ])('%s is not one of that', async (statement) => {
    expect(await effectsOf(client, [statement])).toEqual([]);
  });
});

/** A statement that fails for the rows has read them. */
function explainMissingRows(error: unknown): readonly string[] {
  const code = error instanceof pg.DatabaseError ? error.code : undefined;
  if (code === '23502' || code === '23503') return ['orders is locked while it is read'];
  throw error;
}
