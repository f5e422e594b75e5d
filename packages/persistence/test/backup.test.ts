import { randomBytes } from 'node:crypto';
import {
  actor,
  generateApiKeyId,
  INT64_MAX,
  INT64_MIN,
  type OrderEventId,
  orderId,
  type Plan,
  petId,
  SERVICE_ACTOR,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { createTestDatabase, PATIENTLY, type PrivateServer, startPostgresServer } from '@petstore/testing';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BackupHeader } from '../src/backup/backup-header.ts';
import { LEFT_OUT, SAVED_TABLE_NAMES, SAVED_TABLES, type TABLES_TO_BE_EMPTY } from '../src/backup/saved-tables.ts';
import { BackupError, countsOf, inspectBackup, openPersistence, type Persistence, totalRowsOf } from '../src/index.ts';
import { MIGRATION_NAMES } from '../src/schema/migration-names.ts';
import {
  cancelledOrder,
  collect,
  completedOrder,
  importOrders,
  NOW,
  newOrder,
  numbered,
  pendingOrder,
  shippedOrder,
  UNKNOWN_KEY_ID,
  useTestStore,
} from './support.ts';

const source = useTestStore();
const target = useTestStore();

const clearAll = async (store: typeof source) => {
  await store.clear();
  await store.query('truncate api_keys, api_key_secrets, key_events restart identity');
};
beforeEach(() => Promise.all([source, target].map(clearAll)));

const at = (ms: number) => new Date(NOW.getTime() + ms);
const SAVE = { madeBy: '1.2.3', now: NOW };
const RESTORE = { mayMigrate: true };

async function save(persistence: Persistence = source.persistence): Promise<string> {
  await using backup = await persistence.backups.save(SAVE);
  return Buffer.concat(await collect(backup.text)).toString();
}

async function* inChunks(text: string, size = 65_536): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

const restore = (text: string | AsyncIterable<Uint8Array>, { persistence } = target): Promise<BackupHeader> =>
  persistence.backups.restore(typeof text === 'string' ? inChunks(text) : text, RESTORE);

/** Makes pets of more bytes than the buffers on the way hold. */
const MANY_BYTES = `insert into pets (id, name) select i, repeat('x', 10000) from generate_series(1, 2000) i`;

/** Every row of every table that is saved, with its times to the microsecond. */
async function rowsOf(store: typeof source): Promise<Record<string, unknown>> {
  const tables: Record<string, unknown> = {};
  for (const table of SAVED_TABLE_NAMES) {
    const columns = SAVED_TABLES[table].columns.map((column) =>
      /_at$|^at$|_date$|_until$/.test(column) ? `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US')` : column,
    );
    tables[table] = (await store.query(`select ${columns} from ${table} order by ${columns[0]}`)).rows;
  }
  return tables;
}

const expectNothingIn = async (store: typeof source) => {
  for (const rows of Object.values(await rowsOf(store))) expect(rows).toEqual([]);
};

/** Something of everything there is. */
async function fillSource(): Promise<void> {
  const { persistence } = source;
  const { orders, pets, keyAdministration, apiKeys, audit, events } = persistence;
  const facts = { pet: petId(INT64_MIN), early: new Date('0001-01-01T00:00:00.000Z') };
  await importOrders(source, [
    { ...pendingOrder(INT64_MIN), petId: facts.pet, shipDate: facts.early, placedAt: at(1) },
    { ...shippedOrder(INT64_MAX), quantity: 2_147_483_647, shipDate: new Date('9999-12-31T23:59:59.999Z') },
    completedOrder(1n),
    cancelledOrder(2n),
  ]);
  const placed = await orders.insertOrder(newOrder(), {
    actor: actor('key', UNKNOWN_KEY_ID),
    requestId: 'request-\\1',
  });
  for (const command of ['ship', 'complete'] as const) {
    await orders.applyCommand(placed.id, command, at(2), { actor: actor('operator', 'Zoë \t"tab"') });
  }
  const names = ['Rex', '\\.', '\\N', 'a\tb\nc\r\nd\\', '"', '\u{1F98A}', '\u0001\ufffd', ' '];
  await pets.importPets(numbered(names.map((name, i) => ({ id: petId(BigInt(i) - 3n), name }))));
  await pets.importPets(numbered([{ id: petId(INT64_MAX), name: 'long '.repeat(50_000) }]));
  const keys = await Promise.all(
    (
      [
        { name: 'free' },
        { name: 'enterprise', limits: { perMinute: 1, perDay: 1_000_000_000 } },
        { name: 'pro' },
      ] as readonly Plan[]
    ).map((plan, i) =>
      keyAdministration.createKey(
        {
          id: generateApiKeyId(randomBytes),
          name: `key\n${i}`,
          kind: i === 1 ? 'internal' : 'external',
          plan,
          createdAt: at(i),
        },
        randomBytes(32),
      ),
    ),
  );
  const [first, second, third] = keys;
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are three');
  await keyAdministration.rotateKey(first.id, { secretHash: randomBytes(32), now: at(9), overlapEndsAt: at(99) });
  await keyAdministration.setPlan(second.id, { name: 'pro' }, NOW);
  await keyAdministration.revokeKey(third.id, at(5));
  await apiKeys.markKeyUsed(first.id, at(123));
  await audit.recordBan({ action: 'ban.set', at: at(7), actor: SERVICE_ACTOR, keyId: first.id });
  await events.deleteExpired(at(2), NOW, new AbortController().signal);
}

/** The next ids, drawn: generators are what no row shows. */
async function drawIds(
  store: typeof source,
): Promise<{ readonly order: bigint; readonly event: bigint; readonly keyEvent: bigint }> {
  const [row] = (
    await store.query(`select nextval('orders_id_seq'), nextval('order_events_id_seq'), nextval('key_events_id_seq')`)
  ).rows;
  const [order = '', event = '', keyEvent = ''] = row ?? [];
  return { order: BigInt(order), event: BigInt(event), keyEvent: BigInt(keyEvent) };
}

describe('a backup', () => {
  test('holds every table and column of the schema, but for those that are named as left out', async () => {
    const { rows } = await source.query(
      `select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and attnum > 0
       where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace`,
    );
    const found = rows
      .filter(([table = '']) => !Object.hasOwn(LEFT_OUT, table))
      .map(([table, column]) => `${table}.${column}`);
    const saved = SAVED_TABLE_NAMES.flatMap((table) =>
      SAVED_TABLES[table].columns.map((column) => `${table}.${column}`),
    );
    expect(saved.toSorted()).toEqual(found.toSorted());
    const tables = new Set(rows.map(([table]) => table));
    expect(Object.keys(LEFT_OUT).filter((table) => !tables.has(table))).toEqual([]);
  });

  test('is of one moment, whatever is changed while it is read', async () => {
    await importOrders(source, [1n, 2n].map(pendingOrder));
    const before = await rowsOf(source);
    await using backup = await source.persistence.backups.save(SAVE);
    await source.persistence.orders.applyCommand(orderId(1n), 'cancel', NOW, SERVICE_ORIGIN);
    await source.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    await restore(backup.text);
    expect(await rowsOf(target)).toEqual(before);
    expect(countsOf(backup.header)).toEqual({ orders: 2, pets: 0, keys: 0, events: 2 });
  });

  test('says how far it is', async () => {
    await source.persistence.orders.generateOrders({ count: 5_000, seed: 1, now: NOW });
    const [saved, restored]: number[][] = [[], []];
    await using backup = await source.persistence.backups.save({ ...SAVE, onProgress: (n) => void saved?.push(n) });
    let begun: BackupHeader | undefined;
    const header = await target.persistence.backups.restore(backup.text, {
      ...RESTORE,
      onBegin(of) {
        begun = of;
      },
      onProgress: (n) => void restored?.push(n),
    });
    expect(begun).toEqual(header);
    for (const counts of [saved ?? [], restored ?? []]) {
      expect(counts.length).toBeGreaterThan(3);
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      expect(counts.at(-1)).toBe(totalRowsOf(header));
    }
  });

  test('of an empty database is none', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    await expect(save(persistence)).rejects.toThrow(BackupError);
    await expect(save(persistence)).rejects.toThrow('the database is empty: there is nothing to save');
    expect((await persistence.migrations.status()).applied).toEqual([]);
  });

  test('that is given up keeps no snapshot', async () => {
    await source.query(MANY_BYTES);
    {
      await using backup = await source.persistence.backups.save(SAVE);
      for (let i = 0; i < 3; i++) expect((await backup.text.next()).done).toBe(false);
    }
    const held =
      'select from pg_stat_activity where backend_xmin is not null and pid <> pg_backend_pid() and datname = current_database()';
    await vi.waitFor(async () => expect((await source.query(held)).rows).toEqual([]), PATIENTLY);
  });
});

describe('what is restored', () => {
  test('is every row as it was, times and all, in one backup and in the next', async () => {
    await fillSource();
    const text = await save();
    const header = await restore(text);
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
    expect(header).toMatchObject({ madeBy: '1.2.3', madeAt: NOW, schema: MIGRATION_NAMES.at(-1) });
    expect(countsOf(header)).toEqual({ orders: 5, pets: 9, keys: 3, events: 6 });
    expect(header).toEqual(await inspectBackup(inChunks(text)));
    const withoutHeader = (whole: string) => whole.slice(whole.indexOf('\n'));
    expect(withoutHeader(await save(target.persistence))).toBe(withoutHeader(text));
  });

  test.each([1, 3])('is the same if its text comes in pieces of %d bytes', async (size) => {
    await fillSource();
    await source.query('delete from pets where length(name) > 1000');
    await restore(inChunks(await save(), size));
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
  });

  test('has statistics, so that the first statements are planned well', async () => {
    await source.persistence.orders.generateOrders({ count: 1_000, seed: 1, now: NOW });
    await restore(await save());
    const { rows } = await target.query(`select reltuples from pg_class where relname in ('orders', 'order_events')`);
    expect(rows).toEqual([['1000'], ['1000']]);
  });

  test('is followed by new ids, also of what was drawn and is not there', async () => {
    await fillSource();
    await source.query(`select nextval('orders_id_seq')`);
    const text = await save();
    const wouldBe = await drawIds(source);
    await restore(text);
    const drawn = await drawIds(target);
    expect(drawn.order).toBe(wouldBe.order);
    expect(drawn.keyEvent).toBe(wouldBe.keyEvent);
    expect(drawn.event).toBe(wouldBe.event + 1_000_000_000n);
  });

  test('never moves a generator back', async () => {
    await importOrders(source, [pendingOrder(1n)]);
    await target.query(`select setval('orders_id_seq', 700)`);
    await restore(await save());
    expect((await drawIds(target)).order).toBe(701n);
  });

  test('is followed by new events for consumers that know the former ones, and for those that know events that are lost', async () => {
    const { orders } = source.persistence;
    const place = () => orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    for (let i = 0; i < 3; i++) await place();
    const text = await save();
    for (let i = 0; i < 3; i++) await place();
    await restore(text);
    const placed = await target.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    for (const position of [2n, 3n, 6n]) {
      const stop = AbortSignal.timeout(20_000);
      const seen: bigint[] = [];
      for await (const batch of await target.persistence.events.followEvents(position as OrderEventId, stop)) {
        seen.push(...batch.map(({ order }) => order.id));
        if (seen.includes(placed.id)) break;
      }
      expect(seen).toEqual(position === 2n ? [3n, placed.id] : [placed.id]);
    }
  });

  test('keeps what was deleted of the log deleted, so that consumers get events_expired', async () => {
    for (let i = 0; i < 3; i++) await source.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    await source.persistence.events.deleteExpired(at(1), NOW, new AbortController().signal);
    await restore(await save());
    const following = target.persistence.events.followEvents(2n as OrderEventId, AbortSignal.timeout(20_000));
    await expect(following).rejects.toThrow('events up to 3 have been deleted');
  });

  test('makes the tables of a database that has none', async () => {
    await importOrders(source, [pendingOrder(1n)]);
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    await persistence.backups.restore(inChunks(await save()), RESTORE);
    expect(await persistence.migrations.status()).toMatchObject({ applied: MIGRATION_NAMES, pending: [] });
    expect((await collect(persistence.orders.listOrders())).flat()).toHaveLength(1);
  });
});

describe('nothing is restored', () => {
  const expectRefusal = async (restoring: Promise<unknown>, reason: string | RegExp) => {
    await expect(restoring).rejects.toThrow(BackupError);
    await expect(restoring).rejects.toThrow(reason);
  };

  test('into a database with a row in any of its tables, which stays', async () => {
    await importOrders(source, [pendingOrder(1n)]);
    const text = await save();
    const order = { pet_id: 1, quantity: 1, status: 'pending', complete: false, placed_at: NOW };
    const event = { id: 1, at: NOW, actor: 'service' };
    const rows: Record<(typeof TABLES_TO_BE_EMPTY)[number], Record<string, unknown>> = {
      orders: { id: 2, ...order },
      pets: { id: 1, name: 'Rex' },
      api_keys: { id: '1a2B3c4D', name: '', kind: 'external', plan: 'free', created_at: NOW },
      api_key_secrets: { hash: randomBytes(32), key_id: '1a2B3c4D', created_at: NOW },
      order_events: { ...event, type: 'order.placed', order_id: 2, ...order },
      key_events: { ...event, action: 'ban.set', key_id: '1a2B3c4D' },
      idempotency_keys: { actor: 'service', idempotency_key: 'a', call: '', remembered_at: NOW, order_id: 2, ...order },
    };
    await target.query('alter table api_key_secrets disable trigger all'); // so that it may have a row alone
    for (const [table, row] of Object.entries(rows)) {
      const places = Object.keys(row).map((_, i) => `$${i + 1}`);
      await target.query(`insert into ${table} (${Object.keys(row)}) values (${places})`, Object.values(row));
      await expectRefusal(restore(text), `the database has rows already, in ${table}`);
      expect((await target.query(`delete from ${table} returning 1`)).rows, table).toHaveLength(1);
    }
    await target.query('alter table api_key_secrets enable trigger all');
    await expectNothingIn(target);
  });

  test('of what a newer release has made', async () => {
    await importOrders(source, [pendingOrder(1n)]);
    const text = await save();
    const newer = text.replace(`"schema":"${MIGRATION_NAMES.at(-1)}"`, '"schema":"9999-from-the-future"');
    await expectRefusal(
      restore(newer),
      'the backup was made by a newer version of this program (1.2.3: its schema is 9999-from-the-future); restore it with that one',
    );
    await expectRefusal(restore(text.replace('"petstoreBackup":1', '"petstoreBackup":2')), 'its form is 2');
    await source.query(`insert into schema_migrations (name) values ('9999-x')`);
    await source.query(`insert into schema_releases values ('9999-x', $1)`, [MIGRATION_NAMES[0]]);
    await expectRefusal(save(), 'migrated by a newer version of this program (9999-x); make the backup with that one');
    await source.query(`delete from schema_migrations where name = '9999-x'`);
    await expectNothingIn(target);
  });

  test('of a text that ends anywhere before its end, or goes on behind it', async () => {
    await fillSource();
    await source.query('delete from pets where length(name) > 1000');
    const text = await save();
    expect(text.length).toBeLessThan(10_000);
    for (let length = 0; length < text.length; length += 13) {
      await expectRefusal(inspectBackup(inChunks(text.slice(0, length))), 'no backup, or only a part of one');
    }
    for (const part of [0, 0.1, 0.3, 0.5, 0.9])
      await expectRefusal(restore(text.slice(0, text.length * part)), 'no backup');
    await expectRefusal(restore(text.slice(0, -1)), 'no backup');
    await expectRefusal(restore(`${text}x`), 'no backup');
    await expectRefusal(inspectBackup(inChunks(`${text}\n`)), 'no backup');
    await expectNothingIn(target);
  });

  test('of a text with fewer rows than it says, another table, or another column', async () => {
    await fillSource();
    const text = await save();
    await expectRefusal(restore(text.replace(/^2\t.*\n/m, '')), 'no backup');
    await expectRefusal(restore(text.replace('{"table":"pets"', '{"table":"pg_authid"')), 'no backup');
    await expectRefusal(
      restore(text.replace('"columns":["id","name"]', '"columns":["id","name) from program \'x\' --"]')),
      'no backup',
    );
    await expectRefusal(restore('{}\n'), 'no backup');
    await expectRefusal(restore(`${'x'.repeat(200_000)}\n`), 'no backup');
    await expectNothingIn(target);
  });

  test('of a row that the schema refuses, and the error says why', async () => {
    await fillSource();
    const text = await save();
    await expectRefusal(
      restore(text.replace('\tcancelled\t', '\tpending\t')),
      /refuses a row of orders: .*orders_state_check/,
    );
    await expectRefusal(
      restore(text.replace('\tcancelled\tf\t', '\tcancelled\tno?\t')),
      /refuses a row of orders: .*boolean/,
    );
    await expectNothingIn(target);
  });

  test('where the text fails, though it be at its very end, and its failure comes through', async () => {
    await fillSource();
    const text = await save();
    async function* failing() {
      yield* inChunks(text);
      throw new RangeError('it was altered');
    }
    await expect(restore(failing())).rejects.toThrow(RangeError);
    await expect(restore(failing())).rejects.toThrow('it was altered');
    // The same where the altered text is refused by PostgreSQL before.
    async function* refusedAndFailing() {
      yield* inChunks(text.replace('\tcancelled\t', '\tpending\t'), 500);
      throw new RangeError('it was altered');
    }
    await expect(restore(refusedAndFailing())).rejects.toThrow('it was altered');
    await expectNothingIn(target);
    await restore(text);
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
  });

  test('while another connection writes; and while it runs none can write, but all may read', async () => {
    await importOrders(source, [1n, 2n].map(pendingOrder));
    const text = await save();
    await target.query('begin; insert into pets (id, name) values (1, $$Rex$$)');
    await expectRefusal(restore(text), 'another connection is writing to the database');
    await target.query('rollback');

    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    async function* slow() {
      yield* inChunks(text.slice(0, -20), 100);
      await gate;
      yield Buffer.from(text.slice(-20));
    }
    const restoring = restore(slow());
    const waiting = `select from pg_locks where relation = 'orders'::regclass and mode = 'ShareRowExclusiveLock' and granted`;
    await vi.waitFor(async () => expect((await target.query(waiting)).rows).toHaveLength(1), PATIENTLY);
    expect((await collect(target.persistence.orders.listOrders())).flat()).toEqual([]);
    const second = expectRefusal(restore(text), 'the database has rows already, in orders');
    const placing = target.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    await vi.waitFor(async () => {
      expect(
        (await target.query(`select from pg_locks where not granted and relation = 'orders'::regclass`)).rows,
      ).toHaveLength(2);
    }, PATIENTLY);
    open();
    await restoring;
    expect((await placing).id).toBeGreaterThan(2n);
    await second;
    expect((await collect(target.persistence.orders.listOrders())).flat()).toHaveLength(3);
  });
});

describe('a PostgreSQL that dies', () => {
  let server: PrivateServer;
  let persistence: Persistence;
  let text: string;
  beforeAll(async () => {
    server = await startPostgresServer();
    persistence = openPersistence({ databaseUrl: server.url });
    await persistence.migrations.migrate();
    await source.query(MANY_BYTES);
    text = await save();
    return async () => {
      await persistence.close();
      await server[Symbol.asyncDispose]();
    };
  });

  test.each([0.5, 1])('has nothing of a restore that had read %d of the text', async (part) => {
    async function* killing() {
      const length = Math.floor(text.length * part) - 1;
      yield* inChunks(text.slice(0, length));
      await server.kill();
      yield* inChunks(text.slice(length));
    }
    await expect(persistence.backups.restore(killing(), RESTORE)).rejects.toThrow(StorageUnavailableError);
    await server.restart();
    expect(await collect(persistence.pets.listPets())).toEqual([]);
  });

  test('fails a backup, which then has no end', async () => {
    await persistence.backups.restore(inChunks(text), RESTORE);
    await using backup = await persistence.backups.save(SAVE);
    const reading = async () => {
      for (let i = 0; !(await backup.text.next()).done; i++) if (i === 5) await server.kill();
    };
    await expect(reading()).rejects.toThrow(StorageUnavailableError);
  });
});

test('pets are listed in the order of their ids, as many as there are', async () => {
  const pets = Array.from({ length: 25_000 }, (_, i) => ({ id: petId(BigInt(i * 7) - 1_000n), name: `pet ${i}` }));
  await source.persistence.pets.importPets(numbered(pets.toReversed()));
  const batches = await collect(source.persistence.pets.listPets());
  expect(batches.map((batch) => batch.length)).toEqual([10_000, 10_000, 5_000]);
  expect(batches.flat()).toEqual(pets);
});
