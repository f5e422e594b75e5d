import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { petId } from '@petstore/domain';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
const pathOf = (name: string) => join(commandLine.folder, name);
beforeEach(() => commandLine.clear());

const exported = async () => (await commandLine.run(['pets', 'export', '-'])).stdout;

async function* numbered(names: readonly string[]) {
  yield names.map((name, i) => ({ line: i, value: { id: petId(BigInt(i)), name } }));
}

test('pets that are exported can be imported, whatever their names are; CSV refuses the few that it cannot hold', async () => {
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
      const isRefused = given.some((text) => text.includes('\ufffd'));
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
