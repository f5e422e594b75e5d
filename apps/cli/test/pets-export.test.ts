import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { petId } from '@petstore/domain';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
const pathOf = (name: string) => join(commandLine.folder, name);
beforeEach(() => commandLine.clear());

const PETS = [
  '{"id":-9223372036854775808,"name":"Rex"}',
  '{"id":7,"name":"a, \\"quoted\\" name\\nof two lines; \\\\"}',
  '{"id":9223372036854775807,"name":" blanks \\t"}',
];
const importAll = () => commandLine.json(['pets', 'import', '-'], { stdin: PETS.join('\n') });
const exported = async () => (await commandLine.run(['pets', 'export', '-'])).stdout;

async function* numbered(names: readonly string[]) {
  yield names.map((name, i) => ({ line: i, value: { id: petId(BigInt(i)), name } }));
}

describe('pets that are exported can be imported', () => {
  test.each([
    ['NDJSON', ['pets', 'export', 'out.ndjson'], 'out.ndjson'],
    ['CSV', ['pets', 'export', 'out.txt', '--format', 'csv'], 'out.txt'],
    ['CSV by its name', ['pets', 'export', 'Out.CSV'], 'Out.CSV'],
  ])('as %s', async (_, args, name) => {
    await importAll();
    expect(await commandLine.json(args, { workingFolder: commandLine.folder })).toEqual({ exported: 3 });
    await commandLine.clear();
    expect(await commandLine.json(['pets', 'import', pathOf(name)])).toMatchObject({ inserted: 3 });
    expect(await exported()).toBe(`${PETS.join('\n')}\n`);
  });

  test.each([
    ['NDJSON', ['pets', 'export', '-']],
    ['CSV', ['pets', 'export', '-', '--format', 'csv']],
  ])('from standard output to standard input as %s', async (_, args) => {
    await importAll();
    const { code, stdout, stderr } = await commandLine.run(args);
    expect([code, stderr]).toEqual([0, '']);
    await commandLine.clear();
    expect(await commandLine.json(['pets', 'import', '-'], { stdin: stdout })).toMatchObject({ inserted: 3 });
    expect(await exported()).toBe(`${PETS.join('\n')}\n`);
  });

  test('whatever their names are; CSV refuses the few that it cannot hold', async () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\0'));
    const extra = fc.constantFrom('\r', '\r\n', '\n', '\ufffd', '\ufeff', '"', ',', ' ', '\t', "'", '\\');
    const names = fc.array(fc.oneof(name, fc.string({ unit: extra, minLength: 1, maxLength: 6 })), {
      size: '+1',
      maxLength: 100,
    });
    await fc.assert(
      fc.asyncProperty(names, async (given) => {
        await commandLine.clear();
        await commandLine.persistence.pets.importPets(numbered(given));
        const before = await exported();
        const csv = await commandLine.run(['pets', 'export', '-', '--format', 'csv']);
        const isRefused = given.some((text) => /[\r\ufffd]/.test(text));
        expect(csv.code, csv.stderr).toBe(isRefused ? 1 : 0);
        for (const stdin of [before, ...(isRefused ? [] : [csv.stdout])]) {
          await commandLine.clear();
          expect(await commandLine.json(['pets', 'import', '-'], { stdin })).toMatchObject({ inserted: given.length });
          expect(await exported()).toBe(before);
        }
      }),
      { numRuns: 8 },
    );
  });
});

test('as one JSON value they are an array', async () => {
  await importAll();
  expect(await commandLine.json(['pets', 'export', '-'])).toHaveLength(3);
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
