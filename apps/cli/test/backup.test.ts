import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { hashApiKeyText } from '@petstore/domain';
import { createTestDatabase, PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkSeal, seal, unseal } from '../src/backup/sealed-file.ts';
import { expectKey, petstoreInto, spawnPetstore, useTestCommandLine } from './support.ts';

const source = useTestCommandLine();
const target = useTestCommandLine();
const pathOf = (name: string) => join(source.folder, name);
const partialFiles = () => readdirSync(source.folder).filter((name) => name.includes('.partial'));

async function query(url: string, text: string): Promise<readonly (readonly unknown[])[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query({ text, rowMode: 'array' }).finally(() => client.end());
  return rows;
}
const clear = (url: string) =>
  query(url, 'truncate orders, pets, api_keys, api_key_secrets, order_events, key_events, idempotency_keys');
const countRows = async (url: string) => {
  const tables = ['orders', 'pets', 'api_keys', 'api_key_secrets', 'order_events', 'key_events'];
  const [row] = await query(url, `select ${tables.map((table) => `(select count(*) from ${table})`)}`);
  return row?.map(Number);
};

const COUNTS = { orders: 5, pets: 2, keys: 2, events: 5 };
/** A backup of {@link COUNTS}. */
let whole: Buffer;
let keyTexts: readonly string[];
beforeAll(async () => {
  await source.json(['orders', 'generate', '--count', '5', '--seed', '1']);
  await source.json(['pets', 'import', '-'], { stdin: 'id,name\n1,Rex\n2,"a, b"\n' });
  const enterprise = ['--plan', 'enterprise', '--per-minute', '7', '--per-day', '70', '--internal'];
  const made = [
    expectKey(await source.json(['keys', 'create', '--plan', 'free', '--name', 'till', '--expires', '90d'])),
    expectKey(await source.json(['keys', 'create', ...enterprise])),
  ];
  const rotated = expectKey(await source.json(['keys', 'rotate', made[0]?.id ?? '']));
  await source.json(['keys', 'set-plan', made[0]?.id ?? '', '--plan', 'pro']);
  keyTexts = [...made, rotated].map(({ key }) => key);
  whole = await backupToPipe();
});
beforeEach(() => clear(target.url));

/** What `backup -` writes. */
async function backupToPipe(): Promise<Buffer> {
  const stdout = new PassThrough();
  const written = buffer(stdout);
  expect(await petstoreInto(stdout, ['backup', '-'], source)).toEqual({ code: 0, stderr: '' });
  stdout.end();
  return written;
}

const restorePipe = (bytes: Uint8Array) => target.run(['restore', '-', '--json'], { stdin: bytes });

function restoreFile(bytes: Uint8Array, name = 'given.backup') {
  writeFileSync(pathOf(name), bytes);
  return target.run(['restore', pathOf(name), '--json']);
}

const expectRestored = async () => {
  const keys = await target.json(['keys', 'list']);
  expect(keys).toEqual(await source.json(['keys', 'list']));
  for (const args of [
    ['orders', 'export', '-'],
    ['pets', 'export', '-'],
    ['audit', '--json'],
  ]) {
    expect((await target.run(args)).stdout).toBe((await source.run(args)).stdout);
  }
  for (const text of keyTexts) {
    const found = await target.persistence.apiKeys.findSecret(hashApiKeyText(text));
    expect(found).toEqual(await source.persistence.apiKeys.findSecret(hashApiKeyText(text)));
    expect(found).toBeDefined();
  }
};

const expectNothingRestored = async () => expect(await countRows(target.url)).toEqual([0, 0, 0, 0, 0, 0]);

describe('what was saved is restored, every key still valid', () => {
  test('from a file, which only its owner can read', async () => {
    const path = pathOf('shop.backup');
    expect(await source.json(['backup', 'shop.backup'], { workingFolder: source.folder })).toEqual(COUNTS);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(partialFiles()).toEqual([]);
    expect(await target.json(['restore', path])).toEqual(COUNTS);
    await expectRestored();
  });

  test('from standard input; the counts of what goes to standard output are messages', async () => {
    expect(await restorePipe(whole)).toEqual({ code: 0, stdout: `${JSON.stringify(COUNTS)}\n`, stderr: '' });
    await expectRestored();
    const { code, stderr } = await petstoreInto(new PassThrough().resume(), ['backup', '-', '--json'], source);
    expect([code, JSON.parse(stderr)]).toEqual([0, COUNTS]);
  });

  test('from a pipe, which can be read only once', async () => {
    execFileSync('mkfifo', [pathOf('pipe')]);
    const written = writeFile(pathOf('pipe'), whole);
    expect(await target.json(['restore', pathOf('pipe')])).toEqual(COUNTS);
    await written;
    await expectRestored();
  });

  test('and the output for people says so', async () => {
    const path = pathOf('shop.backup');
    const counts = '5 orders, 2 pets, 2 keys and 5 events';
    expect(await source.run(['backup', path])).toEqual({ code: 0, stdout: `${counts} saved to ${path}\n`, stderr: '' });
    const { code, stdout, stderr } = await target.run(['restore', path]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^5 orders, .* restored from a backup of 20\d\d-\S+Z, made by version \d\S+\n$/);
    expect((await target.run(['restore', '--check', path])).stdout).toBe(stdout.replace('restored from', 'in'));
  });

  test('with the lines that zcat shows: one that says what it is, and tables under their names', () => {
    const lines = gunzipSync(whole).toString().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ petstoreBackup: 1, rows: { orders: 5, pets: 2, api_keys: 2 } });
    const pets = lines.indexOf('{"table":"pets","columns":["id","name"]}');
    expect(lines.slice(pets + 1, pets + 4)).toEqual(['1\tRex', '2\ta, b', '\\.']);
    expect(lines.join('\n')).not.toContain('pso_live_');
  });

  test('into a database that has no tables yet, unless MIGRATE is off', async () => {
    await using database = await createTestDatabase();
    const environment = { DATABASE_URL: database.url };
    const call = () =>
      target.run(['restore', '-', '--json'], { stdin: whole, environment: { ...environment, MIGRATE: 'off' } });
    expect(await call()).toMatchObject({ code: 1, stderr: expect.stringContaining('set MIGRATE=on to apply them') });
    expect(await target.json(['restore', '-'], { stdin: whole, environment })).toEqual(COUNTS);
    expect(await countRows(database.url)).toEqual(await countRows(source.url));
  });
});

test('of a database that has no tables nothing is saved, and it is said which database that is', async () => {
  await using database = await createTestDatabase();
  const { code, stderr } = await source.run(['backup', pathOf('none')], {
    environment: { DATABASE_URL: database.url },
  });
  const { host, pathname } = new URL(database.url);
  expect([code, stderr]).toEqual([
    1,
    `petstore: the database is empty: there is nothing to save (the database ${host}${pathname} of DATABASE_URL)\n`,
  ]);
});

describe('a file that is not as it was made', () => {
  const readAll = async (bytes: Uint8Array, chunkBytes = 100) => {
    async function* chunks() {
      for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
    }
    const read: Uint8Array[] = [];
    for await (const chunk of unseal(chunks())) read.push(chunk);
    return Buffer.concat(read);
  };
  const check = (bytes: Uint8Array) =>
    checkSeal(
      (async function* () {
        yield bytes;
      })(),
    );
  const withoutSeal = () => whole.subarray(0, whole.lastIndexOf(Buffer.from([0x1f, 0x8b, 8])));
  const flipped = (i: number, bit: number) => {
    const bytes = Buffer.from(whole);
    bytes.writeUInt8(bytes.readUInt8(i) ^ (1 << bit), i);
    return bytes;
  };

  test('is noticed wherever it was cut', async () => {
    for (let length = 0; length < whole.length; length++) {
      for (const read of [readAll, check]) {
        await expect(read(whole.subarray(0, length)), `${length} bytes`).rejects.toThrow(/cut off or altered/);
      }
    }
  });

  test('is noticed whichever byte was altered', async () => {
    for (let i = 0; i < whole.length; i++) {
      for (const read of [readAll, check]) {
        await expect(read(flipped(i, i % 8)), `byte ${i}`).rejects.toThrow(/cut off or altered|no backup/);
      }
    }
  });

  test('is noticed before its end has come, if what is compressed ends before', async () => {
    async function* endless() {
      yield Buffer.concat([withoutSeal(), Buffer.alloc(1_000)]); // gzip passes over zeros
      await new Promise(() => {});
    }
    const read = async () => {
      for await (const _ of unseal(endless()));
    };
    await expect(read()).rejects.toThrow('cut off or altered');
  });

  test('is read the same in pieces of any size', async () => {
    const text = gunzipSync(whole).toString();
    for (const size of [1, 2, 3, 99, whole.length - 1, whole.length, whole.length + 1]) {
      const read = (await readAll(whole, size)).toString();
      expect(text.startsWith(read) && text.length > read.length && read.endsWith('{"end":true}\n')).toBe(true);
    }
  });

  test('is refused from a file and from standard input, and nothing is restored', async () => {
    const cuts = Array.from({ length: 12 }, (_, i) => whole.subarray(0, Math.floor((whole.length * i) / 12)));
    const others = [3, 8, 40, 700, 1_000, whole.length - 60, whole.length - 1].map((i) => flipped(i, 2));
    const longer = [
      Buffer.concat([whole, whole]),
      Buffer.concat([whole, Buffer.from('\n')]),
      Buffer.concat([withoutSeal(), Buffer.alloc(500)]),
      Buffer.concat([withoutSeal(), Buffer.alloc(200_000, 'x')]),
    ];
    const unsealed = [gunzipSync(whole), gzipSync(gunzipSync(whole)), Buffer.from('[]')];
    for (const bytes of [...cuts, ...others, ...longer, ...unsealed]) {
      for (const { code, stdout, stderr } of [await restoreFile(bytes), await restorePipe(bytes)]) {
        expect(stderr).toMatch(
          /^petstore: (the backup was cut off or altered|this is no backup); nothing was restored\n$/,
        );
        expect([code, stdout]).toEqual([1, '']);
      }
    }
    await expectNothingRestored();
  });

  test('is refused where what it holds was altered, though it be a sound file', async () => {
    const text = gunzipSync(whole).toString();
    const end = text.indexOf('{"sha256"');
    async function* altered() {
      yield Buffer.from(text.slice(0, end).replace('{"end":true}\n', ''));
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of seal(altered())) chunks.push(chunk);
    for (const { code, stderr } of [
      await restoreFile(Buffer.concat(chunks)),
      await restorePipe(Buffer.concat(chunks)),
    ]) {
      expect([code, stderr]).toEqual([1, 'petstore: this is no backup, or only a part of one; nothing was restored\n']);
    }
    await expectNothingRestored();
  });

  test('does not even change the schema, if it is a file', async () => {
    await using database = await createTestDatabase();
    writeFileSync(pathOf('cut.backup'), whole.subarray(0, -1));
    const { code } = await target.run(['restore', pathOf('cut.backup')], {
      environment: { DATABASE_URL: database.url },
    });
    expect(code).toBe(1);
    expect(await query(database.url, `select from pg_class where relname = 'orders'`)).toEqual([]);
  });

  test('is found by --check, without a database', async () => {
    const environment = { DATABASE_URL: 'postgres://user@127.0.0.1:1/none' };
    const look = (bytes: Uint8Array) =>
      target.run(['restore', '--check', '-', '--json'], { stdin: bytes, environment });
    expect(await look(whole)).toEqual({ code: 0, stdout: `${JSON.stringify(COUNTS)}\n`, stderr: '' });
    expect(await look(whole.subarray(0, -200))).toMatchObject({ code: 1, stdout: '' });
    expect(await look(flipped(900, 1))).toMatchObject({ code: 1, stdout: '' });
  });
});

test('a database that has rows is left as it is', async () => {
  await query(target.url, `insert into pets (id, name) values (3, 'Tom')`);
  expect(await restorePipe(whole)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'petstore: the database has rows already, in pets: restore into an empty one; nothing was restored\n',
  });
  expect(await countRows(target.url)).toEqual([0, 1, 0, 0, 0, 0]);
});

test('a file that is not there, and a database that is not, are one line each', async () => {
  const gone = await target.run(['restore', '/no/such.backup']);
  expect(gone).toMatchObject({ code: 1, stdout: '' });
  expect(gone.stderr).toMatch(/^petstore: \/no\/such\.backup cannot be read: .*; nothing was restored\n$/);
  const environment = { DATABASE_URL: 'postgres://user@127.0.0.1:1/none' };
  for (const args of [
    ['backup', pathOf('none.backup')],
    ['restore', '-'],
  ]) {
    const { code, stdout, stderr } = await target.run(args, { environment, stdin: whole });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^petstore: PostgreSQL is not available: .*\n$/);
  }
  expect(readdirSync(source.folder).filter((name) => name.startsWith('none'))).toEqual([]);
});

describe('standard output', () => {
  test('that is a terminal is not written to', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const { code, stderr } = await petstoreInto(terminal, ['backup', '-'], source);
    expect([code, stderr]).toEqual([2, expect.stringContaining('name a file, or redirect it')]);
    expect(terminal.read()).toBeNull();
  });

  test('that is closed before the end makes the backup fail', async () => {
    await query(
      source.url,
      `insert into pets (id, name) select i, sha512(i::text::bytea)::text from generate_series(100, 10000) i`,
    );
    const child = spawnPetstore(['backup', '-'], { environment: source.environment });
    const messages = buffer(child.stderr);
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = (await once(child, 'close')) as [number];
    await query(source.url, 'delete from pets where id >= 100');
    expect([code, (await messages).toString()]).toEqual([1, expect.stringContaining('the backup is not complete')]);
  });
});

test('a restore whose result cannot be printed says that it is done', async () => {
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('broken')) });
  const { code, stderr } = await petstoreInto(broken, ['restore', '-'], { ...target, stdin: whole });
  expect([code, stderr]).toEqual([1, 'petstore: standard output cannot be written: broken; the backup was restored\n']);
  await expectRestored();
});

describe('a signal', () => {
  const OF_THIS_DATABASE = 'database = (select oid from pg_database where datname = current_database())';

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s to a backup leaves no file, and what was there before',
    async (signal) => {
      const path = pathOf('kept.backup');
      writeFileSync(path, 'as it was');
      const blocker = new pg.Client(source.url);
      await blocker.connect();
      await blocker.query('begin; lock table order_events in access exclusive mode');
      const child = spawnPetstore(['backup', path], { environment: source.environment });
      const [messages, closed] = [buffer(child.stderr), once(child, 'close')];
      await vi.waitFor(() => expect(partialFiles()).toHaveLength(1), PATIENTLY);
      await vi.waitFor(async () => {
        expect(
          (await blocker.query(`select from pg_locks where not granted and ${OF_THIS_DATABASE}`)).rows,
        ).toHaveLength(1);
      }, PATIENTLY);
      child.kill(signal);
      expect(await closed).toEqual([signal === 'SIGINT' ? 130 : 143, null]);
      await blocker.end();
      expect((await messages).toString()).toBe(`Interrupted. ${path} was not changed.\n`);
      expect(partialFiles()).toEqual([]);
      expect(readFileSync(path, 'utf8')).toBe('as it was');
      rmSync(path);
    },
  );

  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('%s to a restore leaves nothing behind', async (signal) => {
    const child = spawnPetstore(['restore', '-'], { environment: target.environment });
    const [messages, closed] = [buffer(child.stderr), once(child, 'close')];
    child.stdin.write(whole.subarray(0, -1)); // all rows, and not the end
    const running = `select from pg_locks where mode = 'ShareRowExclusiveLock' and granted and ${OF_THIS_DATABASE}`;
    await vi.waitFor(async () => expect(await query(target.url, running)).not.toEqual([]), PATIENTLY);
    child.kill(signal);
    const [code, endedBy] = await closed;
    const codes = { SIGINT: [130, null], SIGTERM: [143, null], SIGKILL: [null, 'SIGKILL'] };
    expect([code, endedBy]).toEqual(codes[signal]);
    expect((await messages).toString()).toBe(signal === 'SIGKILL' ? '' : 'Interrupted. Nothing was restored.\n');
    await vi.waitFor(async () => expect(await query(target.url, running)).toEqual([]), PATIENTLY);
    await expectNothingRestored();
    expect(await target.json(['restore', '-'], { stdin: whole })).toEqual(COUNTS);
  });
});
