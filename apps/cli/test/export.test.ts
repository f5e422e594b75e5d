import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { LISTED_FIELDS, orderTextOf, petId } from '@petstore/domain';
import { anyOrders } from '@petstore/testing/any-order';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { FileReplacement } from '../src/files/replace-file.ts';
import { parseExactly, spawnPetstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
beforeEach(() => commandLine.clear());

const pathOf = (name: string) => join(commandLine.folder, name);
const partialFiles = () => readdirSync(commandLine.folder).filter((file) => file.endsWith('.partial'));

/** Orders of every state, over the whole range. */
const NDJSON = [
  '{"id":-9223372036854775808,"petId":9223372036854775807,"quantity":2147483647,"complete":false,"status":"pending"}',
  '{"id":1,"petId":-1,"quantity":1,"shipDate":"2026-01-02T03:04:05.600Z","complete":false,"status":"shipped"}',
  '{"id":2,"petId":0,"quantity":2,"shipDate":"0001-01-01T00:00:00.000Z","complete":true,"status":"shipped"}',
  '{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":3,"complete":false,"status":"cancelled"}',
];
const importAll = () => commandLine.json(['orders', 'import', '-'], { stdin: NDJSON.join('\n') });

describe('what is exported can be imported', () => {
  test.each([
    ['NDJSON', ['orders', 'export', 'out.ndjson'], 'out.ndjson'],
    ['CSV', ['orders', 'export', 'out.txt', '--format', 'csv'], 'out.txt'],
    ['CSV by its name', ['orders', 'export', 'Out.CSV'], 'Out.CSV'],
  ])('as %s', async (_, args, name) => {
    await importAll();
    expect(await commandLine.json(args, { workingFolder: commandLine.folder })).toEqual({ exported: 4 });
    await commandLine.clear();
    const importing = commandLine.json(['orders', 'import', name], { workingFolder: commandLine.folder });
    expect(await importing).toMatchObject({ inserted: 4 });
    const { stdout } = await commandLine.run(['orders', 'export', '-']);
    expect(stdout).toBe(`${NDJSON.join('\n')}\n`);
    expect(partialFiles()).toEqual([]);
  });
});

/** An export says so of a text that does not. */
const fitsCsv = (value: unknown) => typeof value !== 'string' || !value.includes('\ufffd');

test.each(['ndjson', 'csv'])('orders with any values come back from %s as they were exported', async (format) => {
  const [any = []] = fc.sample(anyOrders({ minLength: 100, maxLength: 100 }), 1);
  const orders = any.filter((order) => format !== 'csv' || Object.values(order).every(fitsCsv));
  const records = orders.map((value, index) => ({ line: index + 1, value }));
  const { insertedCount } = await commandLine.persistence.orders.importOrders(Readable.from(records));
  expect(insertedCount).toBe(orders.length);
  const exported = async () => (await commandLine.run(['orders', 'export', '-', '--format', format])).stdout;
  const file = await exported();
  await commandLine.clear();
  expect(await commandLine.json(['orders', 'import', '-'], { stdin: file })).toMatchObject({ inserted: orders.length });
  const texts = [];
  for await (const batch of commandLine.persistence.orders.listOrderTexts(LISTED_FIELDS)) texts.push(...batch.orders);
  expect(texts).toEqual(orders.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(orderTextOf));
});

describe('orders list', () => {
  test('prints one JSON array, ids as bare digits', async () => {
    expect((await commandLine.run(['orders', 'list', '--json'])).stdout).toBe('[]\n');
    await importAll();
    const { stdout } = await commandLine.run(['orders', 'list', '--json']);
    expect(stdout).toBe(`[${NDJSON.join(',\n')}]\n`);
    expect(parseExactly(stdout)).toHaveLength(4);
  });

  test.each([
    ['pending', ['-9223372036854775808']],
    ['shipped', ['1', '2']],
    ['cancelled', ['9223372036854775807']],
  ])('shows only those that are %s', async (status, ids) => {
    await importAll();
    for (const args of [
      ['orders', 'list', '--json'],
      ['orders', 'export', '-'],
    ]) {
      const { stdout } = await commandLine.run([...args, '--status', status]);
      expect([...stdout.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id)).toEqual(ids);
    }
  });
});

describe('orders generate', () => {
  test('creates the given number, the same for the same seed, whatever ids are taken', async () => {
    const exported = async () => (await commandLine.run(['orders', 'export', '-', '--format', 'csv'])).stdout;
    const withoutIds = (csv: string) => csv.replaceAll(/^\d+/gm, '');
    expect(await commandLine.json(['orders', 'generate', '--count', '1000', '--seed', '42'])).toEqual({
      inserted: 1_000,
    });
    const first = await exported();
    expect(first.trimEnd().split('\n')).toHaveLength(1_001);
    await commandLine.clear();
    await importAll();
    await commandLine.json(['orders', 'generate', '--count', '1000', '--seed', '42']);
    const pending = (await commandLine.run(['orders', 'export', '-', '--format', 'csv', '--status', 'pending'])).stdout;
    const generated = pending.replace(/^-9.*\n/m, '');
    expect(withoutIds(generated)).toBe(withoutIds(first));
    expect(await commandLine.json(['orders', 'generate', '--count', '1'])).toEqual({ inserted: 1 });
  });
});

describe('a long list', () => {
  test('ends quietly when its reader has seen enough', async () => {
    await commandLine.json(['orders', 'generate', '--count', '3000']);
    const child = spawnPetstore(['orders', 'list', '--json'], { environment: commandLine.environment });
    const messages: Buffer[] = [];
    child.stderr.on('data', (data: Buffer) => messages.push(data));
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = (await once(child, 'close')) as [number];
    expect([code, Buffer.concat(messages).toString()]).toEqual([0, '']);
  });
});

describe('a file that is there', () => {
  test('is replaced only when the export has come to its end', async () => {
    await importAll();
    const path = pathOf('kept.ndjson');
    writeFileSync(path, 'as it was');
    const { code } = await commandLine.run(['orders', 'export', path], {
      environment: { DATABASE_URL: 'postgres://user@127.0.0.1:1/none' },
    });
    expect(code).toBe(1);
    expect(readFileSync(path, 'utf8')).toBe('as it was');
    expect(partialFiles()).toEqual([]);
    await commandLine.json(['orders', 'export', path]);
    expect(readFileSync(path, 'utf8')).toBe(`${NDJSON.join('\n')}\n`);
  });

  test.each([
    [0o600, 0o022],
    [0o664, 0o077],
  ])(
    'has its mode %o from the first byte to the last while it is replaced, whatever the umask is',
    async (mode, umask) => {
      const path = pathOf('private.ndjson');
      writeFileSync(path, 'as it was');
      chmodSync(path, mode);
      const former = process.umask(umask);
      try {
        using replacement = new FileReplacement(path);
        const modes: (readonly [size: number, mode: number])[] = [];
        const look = () => {
          const { size, mode } = statSync(pathOf(partialFiles()[0] ?? ''));
          modes.push([size, mode & 0o777]);
        };
        look();
        async function* texts() {
          for (const text of ['first', ' and', ' last']) {
            look();
            yield text;
            await sleep(10); // it is written meanwhile
          }
          look();
        }
        await replacement.write(texts());
        expect(modes[0]).toEqual([0, mode]);
        expect(modes.map(([, seen]) => seen)).toEqual(Array(5).fill(mode));
        expect(modes.at(-1)?.[0]).toBeGreaterThan(0);
      } finally {
        process.umask(former);
      }
      expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['first and last', mode]);
    },
  );

  test('is said not to be changed if the export is interrupted, and a new one not to be written', () => {
    const path = pathOf('unfinished.ndjson');
    for (const verb of ['written', 'changed']) {
      using replacement = new FileReplacement(path);
      expect(replacement.unfinished).toBe(`${path} was not ${verb}.`);
      writeFileSync(path, 'as it was');
    }
  });

  test('under the name of an unfinished export is never written to, link or not', async () => {
    const [path, other] = [pathOf('safe.ndjson'), pathOf('other.txt')];
    writeFileSync(other, 'as it was');
    symlinkSync(other, `${path}.planted.partial`);
    writeFileSync(`${path}.left.partial`, 'half');
    for (const id of ['planted', 'left']) {
      expect(() => new FileReplacement(path, id)).toThrow(/safe\.ndjson cannot be written: .*already exists/);
    }
    expect(readFileSync(other, 'utf8')).toBe('as it was');
    expect([existsSync(path), readFileSync(`${path}.left.partial`, 'utf8')]).toEqual([false, 'half']);
    // Nor does it stand in the way of the next export.
    await importAll();
    expect(await commandLine.json(['orders', 'export', path])).toEqual({ exported: 4 });
    for (const id of ['planted', 'left']) rmSync(`${path}.${id}.partial`);
  });

  test.each([
    ['a link', () => symlinkSync(pathOf('target'), pathOf('a link')), 'it is a link; name the file to which it leads'],
    [
      'a pipe',
      () => execFileSync('mkfifo', [pathOf('a pipe')]),
      'it is a device or a pipe; export to - and redirect the output',
    ],
    ['a folder', () => mkdirSync(pathOf('a folder')), 'it is a folder'],
  ])('is not replaced if it is %s, which is said before any work', async (name, make, reason) => {
    make();
    const result = await commandLine.run(['orders', 'export', pathOf(name), '--json'], {
      environment: { DATABASE_URL: 'postgres://user@127.0.0.1:1/none' }, // which would be the reason otherwise
    });
    expect(result).toEqual({ code: 1, stdout: '', stderr: `petstore: ${pathOf(name)} cannot be written: ${reason}\n` });
    expect(partialFiles()).toEqual([]);
    expect(existsSync(pathOf('target'))).toBe(false);
  });
});

const exported = async () => (await commandLine.run(['pets', 'export', '-'])).stdout;

async function* numbered(names: readonly string[]) {
  yield names.map((name, i) => ({ line: i, value: { id: petId(BigInt(i)), name } }));
}

test('pets that are exported can be imported, whatever their names are; CSV refuses the few that it cannot hold', async () => {
  const any = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\0'));
  const odd = fc.constantFrom('\r', '\r\n', '\n', '\ufeff', '"', ',', ' ', '\t', "'", '\\');
  const names = fc.sample(fc.oneof(any, fc.string({ unit: odd, minLength: 1, maxLength: 6 })), 400).filter(fitsCsv);
  const importAndExport = async (stdin: string) => {
    await commandLine.clear();
    expect(await commandLine.json(['pets', 'import', '-'], { stdin })).toMatchObject({ inserted: names.length });
    return exported();
  };
  await commandLine.persistence.pets.importPets(numbered(names));
  const before = await exported();
  const csv = await commandLine.run(['pets', 'export', '-', '--format', 'csv']);
  for (const stdin of [before, csv.stdout]) expect(await importAndExport(stdin)).toBe(before);

  names.push('a \ufffd');
  await commandLine.clear();
  await commandLine.persistence.pets.importPets(numbered(names));
  const all = await exported();
  expect(await importAndExport(all)).toBe(all);
  expect(await commandLine.run(['pets', 'export', '-', '--format', 'csv'])).toMatchObject({ code: 1 });
});

test('as one JSON value they are an array, and by the name of the file CSV', async () => {
  const pets = ['{"id":-9223372036854775808,"name":"Rex"}', '{"id":7,"name":"a, \\"quoted\\" name"}'];
  await commandLine.json(['pets', 'import', '-'], { stdin: pets.join('\n') });
  expect(await commandLine.json(['pets', 'export', '-'])).toHaveLength(2);
  expect(await commandLine.json(['pets', 'export', pathOf('Pets.CSV')])).toEqual({ exported: 2 });
  const csv = 'id,name\n-9223372036854775808,Rex\n7,"a, ""quoted"" name"\n';
  expect(readFileSync(pathOf('Pets.CSV'), 'utf8')).toBe(csv);
});

test('no pets are an empty file, or an empty array', async () => {
  expect(await exported()).toBe('');
  expect(await commandLine.json(['pets', 'export', '-'])).toEqual([]);
  expect(await commandLine.run(['pets', 'export', pathOf('none.csv')])).toMatchObject({
    code: 0,
    stdout: `0 exported to ${pathOf('none.csv')}\n`,
  });
  expect(readFileSync(pathOf('none.csv'), 'utf8')).toBe('id,name\n');
});
