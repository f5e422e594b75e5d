import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCsvRows } from '../src/import/csv-rows.ts';
import { splitArray } from '../src/import/split-array.ts';
import { splitLines } from '../src/import/split-lines.ts';
import { decodeText, peekCharacter, UnreadableInputError } from '../src/import/text-chunks.ts';

/** Cuts something into pieces at any places. */
async function* cut<Whole extends string | Uint8Array>(whole: Whole, places: readonly number[]): AsyncGenerator<Whole> {
  const sorted = places.map((place) => place % (whole.length + 1)).sort((a, b) => a - b);
  let start = 0;
  for (const end of [...sorted, whole.length]) {
    yield whole.slice(start, end) as Whole; // a slice is of the same kind
    start = end;
  }
}

async function flatten<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const batch of batches) for (const item of batch) all.push(item);
  return all;
}

const places = fc.array(fc.nat(), { maxLength: 12 });
const textOf = (...parts: string[]) =>
  fc.array(fc.constantFrom(...parts), { maxLength: 60 }).map((chosen) => chosen.join(''));

describe('wherever a file is cut into chunks, it reads the same', () => {
  test('lines', async () => {
    await fc.assert(
      fc.asyncProperty(textOf('\r', '\n', '\r\n', 'a', '"', ' '), places, async (text, cuts) => {
        const lines = (await flatten(splitLines(cut(text, cuts)))).map(({ text: line }) => line);
        const expected = text.split(/\r\n|\n|\r/);
        expect(lines).toEqual(expected.at(-1) === '' ? expected.slice(0, -1) : expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('elements of an array', async () => {
    const element = fc.oneof(
      fc.record({ id: fc.integer(), name: fc.string({ unit: 'grapheme' }), list: fc.array(fc.string()) }),
      fc.string(),
      fc.integer(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(element), fc.constantFrom('', ' ', 2), places, async (value, indent, cuts) => {
        const text = ` \n${JSON.stringify(value, undefined, indent)}\n`;
        const items = await flatten(splitArray(cut(text, cuts)));
        expect(items.map((item) => ('text' in item ? JSON.parse(item.text) : item))).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test('rows of CSV', async () => {
    const cell = fc.oneof(fc.constantFrom('', '1', 'two'), textOf('"', '\n', ',', 'x', ';'));
    const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const row = fc.array(cell, { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 30 }),
        fc.constantFrom('\n', '\r\n'),
        places,
        async (rows, end, cuts) => {
          const texts = rows.map((cells) => cells.map(quoted).join(','));
          const read = await flatten(readCsvRows(splitLines(cut(texts.join(end), cuts))));
          const lineOfRow = (index: number) =>
            1 + texts.slice(0, index).reduce((n, text) => n + text.split('\n').length, 0);
          expect(read).toEqual(rows.map((cells, index) => ({ line: lineOfRow(index), cells })));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('characters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), places, async (text, cuts) => {
        fc.pre(!text.startsWith('\ufeff'));
        let decoded = '';
        for await (const chunk of decodeText(cut(new TextEncoder().encode(`\ufeff${text}`), cuts))) decoded += chunk;
        expect(decoded).toBe(text);
      }),
    );
  });
});

describe('a record that never ends is refused before it fills the memory', () => {
  const LENGTH_MAX = 1_000_000;

  async function* endless(head: string, chunk: string): AsyncGenerator<string> {
    yield head;
    for (;;) yield chunk;
  }

  test.each([
    ['a line', 'line 3: ', () => splitLines(endless('{}\n\r\n', 'x'.repeat(10_000)))],
    ['a line of small pieces', 'line 1: ', () => splitLines(endless('', 'x'.repeat(10)))],
    ['a string in an array', 'line 3: ', () => splitArray(endless('[\n{},\n"', 'x,]'.repeat(10_000)))],
    ['an object in an array', 'line 1: ', () => splitArray(endless('[{', ','.repeat(10_000)))],
    ['white space in an array', 'line 1: ', () => splitArray(endless('[', ' '.repeat(10_000)))],
    ['a line of CSV', 'line 2: ', () => readCsvRows(splitLines(endless('id\n', '1,'.repeat(10_000))))],
  ])('%s', async (_, place, read) => {
    const reading = flatten<unknown>(read());
    await expect(reading).rejects.toThrow(UnreadableInputError);
    await expect(reading).rejects.toThrow(`${place}more than 1,000,000 characters`);
  });

  test('white space before the first record', async () => {
    const reading = peekCharacter(endless('', ' \n'.repeat(10_000)));
    await expect(reading).rejects.toThrow(UnreadableInputError);
  });

  test('a quote of CSV that is never closed is a mistake of its own line', async () => {
    async function* chunks() {
      yield 'id,"\n';
      for (let i = 0; i < 200; i++) yield `${'x'.repeat(10_000)}\n`;
    }
    const rows = await flatten(readCsvRows(splitLines(chunks())));
    expect(rows).toHaveLength(201);
    expect(rows[0]).toEqual({ line: 1, reason: 'a quote opens on this line and is not closed' });
  });

  // Of pieces of ten characters: looking through all of the line with each of them would take minutes.
  const pieces = async function* (text: string) {
    for (let i = 0; i < text.length; i += 10) yield text.slice(i, i + 10);
  };

  test('one that is as long as is allowed is read, whatever pieces it comes in', async () => {
    const longest = 'x'.repeat(LENGTH_MAX);
    expect(await flatten(splitLines(pieces(`${longest}\n${longest}`)))).toEqual([
      { line: 1, text: longest },
      { line: 2, text: longest },
    ]);
    expect(await flatten(splitArray(pieces(`[${longest},${longest}]`)))).toEqual([
      { line: 1, text: longest },
      { line: 1, text: longest },
    ]);
    for (const cuts of [[], [LENGTH_MAX + 1]]) {
      await expect(flatten(splitLines(cut(`x${longest}\n`, cuts)))).rejects.toThrow('line 1: more than');
      await expect(flatten(splitArray(cut(`[x${longest}]`, cuts)))).rejects.toThrow('line 1: more than');
    }
  });
});

describe('a mistake in CSV costs one line', () => {
  const rowsOf = async (text: string) => flatten(readCsvRows(splitLines(cut(text, []))));

  test('where a quote is never closed', async () => {
    expect(await rowsOf('1,"a\n2,b\n3,c')).toEqual([
      { line: 1, reason: 'a quote opens on this line and is not closed' },
      { line: 2, cells: ['2', 'b'] },
      { line: 3, cells: ['3', 'c'] },
    ]);
  });

  test('where a quote is closed far below, by another mistake', async () => {
    expect(await rowsOf('1,a"b\n2,b\n3,c"d\n4,e')).toEqual([
      { line: 1, reason: 'a quote within a cell must be doubled, and the cell be quoted' },
      { line: 2, cells: ['2', 'b'] },
      { line: 3, reason: 'a quote opens on this line and is not closed' },
      { line: 4, cells: ['4', 'e'] },
    ]);
  });

  test('where the next row has a cell of two lines', async () => {
    expect(await rowsOf('1,5" nail\n2,"two\nlines"\n4,d')).toEqual([
      { line: 1, reason: 'a quote within a cell must be doubled, and the cell be quoted' },
      { line: 2, cells: ['2', 'two\nlines'] },
      { line: 4, cells: ['4', 'd'] },
    ]);
  });

  test('of many, in as much time as the lines take', async () => {
    const rows = await rowsOf(Array.from({ length: 40_000 }, (_, i) => `${i},5" nail`).join('\n'));
    expect(rows).toHaveLength(40_000);
    expect(rows.every((row) => 'reason' in row)).toBe(true);
  });

  test('and rows of empty cells are rows, however many come at once', async () => {
    expect(await rowsOf(',\n'.repeat(200_000))).toHaveLength(200_000);
  });

  test('where a quote opens a very long text', async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `${i},some text`);
    const rows = await rowsOf(['x,"y', ...many].join('\n'));
    expect(rows).toHaveLength(20_001);
    expect(rows[0]).toEqual({ line: 1, reason: 'a quote opens on this line and is not closed' });
    expect(rows[20_000]).toEqual({ line: 20_001, cells: ['19999', 'some text'] });
  });
});

describe('a mistake in an array is reported with its line', () => {
  const itemsOf = async (text: string) => flatten(splitArray(cut(text, [])));

  test.each([
    ['[]', []],
    [' [ ] ', []],
    ['[{}]', [{ line: 1, text: '{}' }]],
    [
      '[\n{},\n\n{}\n]',
      [
        { line: 2, text: '\n{}' },
        { line: 4, text: '\n\n{}\n' },
      ],
    ],
    [
      '[{},]',
      [
        { line: 1, text: '{}' },
        { line: 1, text: '' },
      ],
    ],
    ['[{}\n{}]', [{ line: 1, text: '{}\n{}' }]],
    [
      '[{},\n{}',
      [
        { line: 1, text: '{}' },
        { line: 2, reason: 'the array is not closed' },
      ],
    ],
    [
      '[{}]\n\n{}',
      [
        { line: 1, text: '{}' },
        { line: 3, reason: 'there is text after the end of the array' },
      ],
    ],
    [
      '["a]\\",[", 2]',
      [
        { line: 1, text: '"a]\\",["' },
        { line: 1, text: ' 2' },
      ],
    ],
  ])('%j', async (text, items) => {
    expect(await itemsOf(text)).toEqual(items);
  });
});
