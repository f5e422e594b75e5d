import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRecords } from '../src/files/read-records.ts';
import { type RecordShape, UnreadableInputError } from '../src/files/record.ts';

const SHAPE: RecordShape = { fields: ['a', 'b'], required: ['a'] };

/** Cuts the bytes of a text into pieces at any places. */
async function* cut(text: string, places: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  let start = 0;
  for (const end of [...sorted, bytes.length]) {
    yield bytes.slice(start, end);
    start = end;
  }
}

async function flatten<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

const places = fc.array(fc.nat(), { maxLength: 12 });
const textOf = (...parts: string[]) =>
  fc.array(fc.constantFrom(...parts), { maxLength: 60 }).map((chosen) => chosen.join(''));

describe('wherever a file is cut into chunks, it reads the same', () => {
  test('lines of NDJSON, which end with LF or CR LF and nowhere else', async () => {
    const name = textOf('\\n', '\u2028', '\u2029', '\u0085', 'a', ' ', '猫', '🐈');
    const line = fc.oneof(name, fc.constant(undefined));
    const lines = fc.array(line, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(lines, fc.constantFrom('\n', '\r\n'), places, async (given, end, cuts) => {
        const texts = ['{"a":0}', ...given.map((a) => (a === undefined ? ' ' : `{"a":"${a}"}`))];
        const values = texts.map((text, i) => ({ line: i + 1, text })).filter(({ text }) => text !== ' ');
        const expected = values.map(({ line, text }) => ({
          line,
          values: line === 1 ? { a: '0' } : (JSON.parse(text) as object),
        }));
        expect(await flatten(readRecords(cut(`\ufeff${texts.join(end)}`, cuts), SHAPE))).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  test('rows of CSV', async () => {
    const cell = fc.oneof(fc.constantFrom('1', 'two'), textOf('"', '\n', '\r\n', ',', 'x', ';'));
    const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const row = fc.tuple(cell, cell).filter((cells) => cells.some((text) => text !== ''));
    const rows = fc.array(row, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(rows, fc.constantFrom('\n', '\r\n'), places, async (given, end, cuts) => {
        const texts = ['a,b', ...given.map((cells) => cells.map(quoted).join(','))];
        const lineOfRow = (index: number) =>
          1 + texts.slice(0, index + 1).reduce((count, text) => count + text.split('\n').length, 0);
        const expected = given.map(([a, b], index) => ({ line: lineOfRow(index), values: { a, b } }));
        expect(await flatten(readRecords(cut(texts.join(end), cuts), SHAPE))).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

test('the first line is found in time that grows with its length alone', async () => {
  const line = `{"a":"${'x'.repeat(1_000_000)}"}`;
  async function* inPieces(): AsyncGenerator<Uint8Array> {
    for (let begin = 0; begin < line.length; begin += 1_000) yield Buffer.from(line.slice(begin, begin + 1_000));
  }
  const startMs = performance.now();
  await expect(flatten(readRecords(inPieces(), SHAPE))).rejects.toThrow('line 1: more than 1,000,000 characters');
  expect(performance.now() - startMs).toBeLessThan(5_000); // a search that starts again at each piece takes hours
});

describe('what has arrived is read while more is to come, if lines end with CR LF', () => {
  async function* withoutEnd(...pieces: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece);
    await new Promise(() => {});
  }

  test('NDJSON', async () => {
    const records = readRecords(withoutEnd('\ufeff', '\r\n', '{"a":"1"', '}\r\n'), SHAPE);
    expect((await records.next()).value).toEqual([{ line: 2, values: { a: '1' } }]);
  });

  test('the header of CSV', async () => {
    const records = readRecords(withoutEnd('\ufeff', ' \r\n', 'a,', 'c\r\n', '1,2\r\n'), SHAPE);
    await expect(records.next()).rejects.toThrow('line 2: unknown column "c"');
  });
});

describe('a record that never ends is refused before it fills the memory', () => {
  async function* endless(head: string, chunk: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(head);
    for (;;) yield Buffer.from(chunk);
  }

  test.each([
    ['a line', 'line 3: ', '{}\n\r\n', 'x'.repeat(60_000)],
    ['a row of CSV', 'line 2: ', 'a,b\n', '1,'.repeat(10_000)],
    ['a cell of CSV in quotes', 'line 2: ', 'a,b\n1,"', 'x\n'.repeat(10_000)],
  ])('%s', async (_, place, head, chunk) => {
    const reading = flatten(readRecords(endless(head, chunk), SHAPE));
    await expect(reading).rejects.toThrow(UnreadableInputError);
    await expect(reading).rejects.toThrow(`${place}more than 1,000,000 characters`);
  });
});
