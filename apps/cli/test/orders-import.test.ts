import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { LISTED_FIELDS, ORDER_STATUSES, type StoredOrder } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type CallOptions, parseExactly, spawnPetstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
beforeEach(() => commandLine.clear());

async function listed(): Promise<StoredOrder[]> {
  const all: StoredOrder[] = [];
  for await (const { orders } of commandLine.persistence.orders.listOrders()) all.push(...orders);
  return all;
}

const listedIds = async () => (await listed()).map(({ id }) => id);

/** Imports from standard input, and gives the exit code with the report. */
async function importText(stdin: string | Uint8Array, args: readonly string[] = [], options: CallOptions = {}) {
  const call = await commandLine.run(['orders', 'import', '-', '--json', ...args], { ...options, stdin });
  return { code: call.code, stderr: call.stderr, report: parseExactly(call.stdout || 'null') };
}

describe('ids and times are exact', () => {
  const MIN = '-9223372036854775808';
  const MAX = '9223372036854775807';

  test.each([
    ['NDJSON', `{"id":${MIN},"petId":${MAX},"quantity":2147483647}\n{"id":${MAX},"petId":${MIN},"quantity":1}`],
    ['CSV', `id,petId,quantity\n${MIN},${MAX},2147483647\n${MAX},${MIN},1`],
    [
      'NDJSON with ids as texts, as v2 lists them',
      `{"id":"${MIN}","petId":"${MAX}","quantity":2147483647}\n{"id":"${MAX}","petId":"${MIN}","quantity":1}`,
    ],
  ])('from %s', async (_, text) => {
    expect(await importText(text)).toMatchObject({ code: 0, report: { inserted: 2 } });
    expect(await listed()).toMatchObject([
      { id: BigInt(MIN), petId: BigInt(MAX), quantity: 2_147_483_647 },
      { id: BigInt(MAX), petId: BigInt(MIN), quantity: 1 },
    ]);
  });

  test('in any form of RFC 3339', async () => {
    const times = [
      ['2026-01-02t03:04:05.6z', '2026-01-02T03:04:05.600Z'],
      ['2026-01-02T03:04:05.678999999+05:30', '2026-01-01T21:34:05.678Z'],
      ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ];
    const rows = times.map(([text], i) => `${i},1,1,${text}`);
    expect(await importText(['id,petId,quantity,shipDate', ...rows].join('\n'))).toMatchObject({ code: 0 });
    expect((await listed()).map(({ shipDate }) => shipDate?.toISOString())).toEqual(times.map(([, time]) => time));
  });
});

test('without a status, complete means shipped, and pending otherwise', async () => {
  const text = [
    '{"id":1,"petId":1,"quantity":1,"complete":true}',
    '{"id":2,"petId":1,"quantity":1,"complete":false,"shipDate":null}',
    '{"id":3,"petId":1,"quantity":1}',
    '{"id":4,"petId":1,"quantity":1,"complete":false,"status":"shipped"}',
    '{"id":5,"petId":1,"quantity":1,"status":"cancelled"}',
  ].join('\n');
  expect(await importText(text)).toMatchObject({ code: 0, report: { inserted: 5 } });
  expect((await listed()).map(({ status, complete }) => [status, complete])).toEqual([
    ['shipped', true],
    ['pending', false],
    ['pending', false],
    ['shipped', false],
    ['cancelled', false],
  ]);
});

describe('a bad line is reported with its number and the reason', () => {
  const GOOD = '{"id":1,"petId":1,"quantity":1}';
  const INT64 = 'a whole number from -9223372036854775808 to 9223372036854775807, in plain digits';
  const QUANTITY = 'a whole number from 1 to 2147483647, in plain digits';
  const BAD_JSON: readonly (readonly [string, string])[] = [
    ['{"id":2', 'not valid JSON; each line must contain one whole record'],
    ['[{"id":2,"petId":1,"quantity":1}]', 'not a JSON object'],
    ['{"id":2,"petId":1,"quantity":1,"status":{"id":1}}', `status must be one of ${ORDER_STATUSES.join(', ')}, not an object`],
    ['{"petId":1,"quantity":1}', `id is missing (${INT64})`],
    ['{"id":"02","petId":1,"quantity":1}', `id must be ${INT64}, not "02"`],
    ['{"id":2.0,"petId":1,"quantity":1}', `id must be ${INT64}, not "2.0"`],
    ['{"id":9223372036854775808,"petId":1,"quantity":1}', `id must be ${INT64}, not "9223372036854775808"`],
    ['{"id":9.00719925474099E+15,"petId":1,"quantity":1}', `id must be ${INT64}, not "9.00719925474099E+15"`],
    ['{"id":2,"petId":1,"quantity":0}', `quantity must be ${QUANTITY}, not "0"`],
    ['{"id":2,"petId":1,"quantity":2147483648}', `quantity must be ${QUANTITY}, not "2147483648"`],
    ['{"id":2,"petId":1,"quantity":1,"complete":"yes"}', 'complete must be true or false, not "yes"'],
    ['{"id":2,"petId":1,"quantity":1,"status":"placed"}', `status must be one of ${ORDER_STATUSES.join(', ')}, not "placed"`],
    ['{"id":2,"petId":1,"quantity":1,"complete":true,"status":"pending"}', 'a complete order must have the status shipped'],
    ['{"petId":"one","quantity":0,"status":"placed","colour":"red"}', `unknown field "colour" (known fields: ${LISTED_FIELDS.join(', ')}); id is missing (${INT64}); petId must be ${INT64}, not "one"; quantity must be ${QUANTITY}, not "0"; status must be one of ${ORDER_STATUSES.join(', ')}, not "placed"`],
  ]; // biome-ignore format: a table
  const BAD_TIMES = ['tomorrow', '2026-01-02T03:04:05', '2026-02-30T00:00:00Z', '10000-01-01T00:00:00Z'];

  test('in NDJSON', async () => {
    const lines = [
      ...BAD_JSON,
      ...BAD_TIMES.map((text) => [
        `{"id":2,"petId":1,"quantity":1,"shipDate":"${text}"}`,
        expect.stringMatching(/^shipDate must be /),
      ]),
    ];
    const { code, report, stderr } = await importText([GOOD, '', ...lines.map(([line]) => line)].join('\r\n'));
    expect([code, stderr]).toEqual([1, '']);
    const rejected = lines.map(([, reason], i) => ({ line: i + 3, reason }));
    expect(report).toEqual({ read: 1 + lines.length, inserted: 0, rejected });
    expect(await listedIds()).toEqual([]);
  });

  test('in CSV, whose header is line 1 and whose rows may span lines', async () => {
    const text = [
      'status,id,petId,quantity,complete,shipDate', // 1
      'pending,1,1,1,FALSE,', // 2
      '', // 3
      '"pend', // 4
      'ing",2,1,1,false,', // 5
      'pending,3,1,1', // 6
      'pending,4,1,1,false,,x', // 7
      'pending,5.0,1,1,false,', // 8
      'pending,6,1,1,perhaps,', // 9
      ',7,1,1,TRUE,', // 10
      ' , 8 , 1 , 1 , true , 2026-01-02T03:04:05Z ', // 11
      'pending,9,"1""",1,false,', // 12
      ',007,1,1,false,', // 13
      ',1,1,1,,', // 14
    ].join('\n');
    const { code, report } = await importText(text, ['--skip-bad']);
    expect(code).toBe(0);
    expect(report).toEqual({
      read: 11,
      inserted: 3,
      rejected: [
        { line: 4, reason: `status must be one of ${ORDER_STATUSES.join(', ')}, not "pend\\ning"` },
        { line: 6, reason: 'the row has 4 cells, and the header has 6' },
        { line: 7, reason: 'the row has 7 cells, and the header has 6' },
        { line: 8, reason: `id must be ${INT64}, not "5.0"` },
        { line: 9, reason: 'complete must be true or false, not "perhaps"' },
        { line: 12, reason: `petId must be ${INT64}, not "1\\""` },
        { line: 13, reason: `id must be ${INT64}, not "007"` },
        { line: 14, reason: 'the id 1 repeats that of an earlier line' },
      ],
    });
    expect(await listed()).toMatchObject([
      { id: 1n, status: 'pending' },
      { id: 7n, status: 'shipped', complete: true },
      { id: 8n, status: 'shipped', complete: true, shipDate: new Date('2026-01-02T03:04:05Z') },
    ]);
  });

  test('in CSV that a spreadsheet saved, whose empty rows and columns are blank', async () => {
    const text = ['id,,petId,quantity,,', '1,,1,1,,', ',,,,,', ' , ,,,,', '2,,1,1,,', '3,x,1,1,,', ',,,,,'].join(
      '\r\n',
    );
    expect((await importText(text, ['--skip-bad'])).report).toEqual({
      read: 3,
      inserted: 2,
      rejected: [{ line: 6, reason: 'the row has 6 cells, and the header has 4' }],
    });
  });

  test('in CSV in which a spreadsheet has changed values', async () => {
    const rows: readonly (readonly [row: string, reason: RegExp])[] = [
      ['9.00719925474099E+15,1,1,,,', /^id must be .* in plain digits, not "9\.00719925474099E\+15"$/],
      ["'7,1,1,,,", /^id must be .*, not "'7"$/],
      ['"1,000",1,1,,,', /^id must be .*, not "1,000"$/],
      ['1\u00a0000,1,1,,,', /^id must be .*, not "1\\u\{a0\}000"$/],
      ['7\u009b31m,1,1,,,', /^id must be .*, not "7\\u\{9b\}31m"$/],
      ['=A1+1,1,1,,,', /^id must be .*, not "=A1\+1"$/],
      ['1,1,"1,0",,,', /^quantity must be .*, not "1,0"$/],
      ['1,1,1,2026-11-26 14:00,,', /^shipDate must be .*, such as 2026-.*Z, not "2026-11-26 14:00"$/],
      ['1,1,1,26.11.2026,,', /^shipDate must be .*, not "26\.11\.2026"$/],
      ['1,1,1,46352.583,,', /^shipDate must be .*, not "46352\.583"$/],
      ['1,1,1,########,,', /^shipDate must be .*, not "########"$/],
      ['1,1,1,,WAHR,', /^complete must be true or false, not "WAHR"$/],
      ['1,1,1,,,Pending', /^status must be one of .*, not "Pending"$/],
      ['Total', /^the row has 1 cell, and the header has 6$/],
    ];
    const text = ['id,petId,quantity,shipDate,complete,status', ...rows.map(([row]) => row)].join('\n');
    const rejected = rows.map(([, reason], i) => ({ line: i + 2, reason: expect.stringMatching(reason) }));
    expect((await importText(text)).report).toEqual({ read: rows.length, inserted: 0, rejected });
  });

  test('where its text is no UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${GOOD}\n{"id":2,"petId":1,"quantity":1,"status":"`),
      Buffer.from([0xe4]),
      Buffer.from('"}\n'),
    ]);
    const { code, report } = await importText(bytes);
    expect(code).toBe(1);
    expect(report).toMatchObject({ rejected: [{ line: 2, reason: 'not valid UTF-8; save the file as UTF-8' }] });
  });
});

describe('all or nothing', () => {
  const TAKEN = '{"id":5,"petId":1,"quantity":1}';

  test.each([
    ['bad', '{"id":1}'],
    ['of an id that is taken', TAKEN],
  ])('one line among many that is %s keeps everything out, and the report comes with exit code 1', async (_, last) => {
    await importText(TAKEN);
    const good = Array.from({ length: 2_500 }, (_line, i) => `{"id":${i + 10},"petId":1,"quantity":1}`);
    const { code, report } = await importText([...good, last].join('\n'));
    expect(code).toBe(1);
    expect(report).toMatchObject({ read: 2_501, inserted: 0, rejected: [{ line: 2_501 }] });
    expect(await listedIds()).toEqual([5n]);
  });

  test('--skip-bad keeps the good ones, with exit code 0', async () => {
    await importText(TAKEN);
    const text = `{"id":4,"petId":1,"quantity":1}\n${TAKEN}\nbad\n{"id":6,"petId":1,"quantity":1}`;
    const { code, report } = await importText(text, ['--skip-bad']);
    expect(code).toBe(0);
    expect(report).toEqual({
      read: 4,
      inserted: 2,
      rejected: [
        { line: 2, reason: 'an order with the id 5 already exists' },
        { line: 3, reason: expect.stringMatching(/^not valid JSON/) },
      ],
    });
    expect(await listedIds()).toEqual([4n, 5n, 6n]);
  });
});

test('of a file in which every line is wrong the first thousand are listed, and the others counted', async () => {
  const good = '{"id":1,"petId":1,"quantity":1}';
  const { code, report } = await importText([good, ...Array(1_500).fill('{}'), ...Array(1_500).fill(good)].join('\n'));
  expect(code).toBe(1);
  expect(report).toEqual({ read: 3_001, inserted: 0, rejected: expect.any(Array), notListed: 2_000 });
  const { rejected } = report as { rejected: readonly { line: number }[] }; // as has just been seen
  expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 2));
});

test('an import that is killed while it inserts leaves no order, and new ones can be placed', async () => {
  await using client = Object.assign(new pg.Client(commandLine.url), { [Symbol.asyncDispose]: () => client.end() });
  await client.connect();
  await client.query('begin; lock table order_events in exclusive mode');
  const child = spawnPetstore(['orders', 'import', '-'], { environment: commandLine.environment });
  const closed = once(child, 'close');
  for (let id = 1; id <= 3_000; id++) child.stdin.write(`{"id":${id},"petId":1,"quantity":1}\n`);
  child.stdin.end();
  // Its start may wait for that table, too: to give ids, before it has any order.
  const isInserting = `select from pg_locks where relation = 'order_events'::regclass and not granted
    and pg_relation_size('orders') > 0`;
  await vi.waitFor(async () => expect((await client.query(isInserting)).rows).toHaveLength(1), PATIENTLY);
  child.kill('SIGKILL');
  await closed;
  await client.query('rollback');
  expect(await listedIds()).toEqual([]);
  expect(await commandLine.json(['orders', 'generate', '--count', '1'])).toEqual({ inserted: 1 });
  expect(await listedIds()).toHaveLength(1);
});

test('a person sees of an import that is refused the lines, on standard error only, the first twenty', async () => {
  const stdin = Array.from({ length: 25 }, () => '{}').join('\n');
  const { code, stdout, stderr } = await commandLine.run(['orders', 'import', '-'], { stdin });
  expect([code, stdout]).toEqual([1, '']);
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(22);
  expect(lines[0]).toMatch(/^line 1: id is missing/);
  expect(lines[20]).toBe('and 5 more; --json lists them all');
  expect(lines[21]).toMatch(/^Nothing was imported\. Fix these lines, or pass --skip-bad\.$/);
});

describe('a file as a whole', () => {
  test.each([
    ['an empty file', ''],
    ['blank lines', '\n \r\n\n'],
    ['a header alone', 'id,petId,quantity\n'],
  ])('may hold nothing: %s', async (_, text) => {
    expect(await importText(text)).toMatchObject({ code: 0, report: { read: 0, inserted: 0, rejected: [] } });
  });

  test('may begin with a byte order mark, end its lines with LF or CR LF, and have its columns in any order', async () => {
    for (const [i, end] of ['\n', '\r\n'].entries()) {
      const text = ['\ufeff"quantity","petId","id"', `3,2,${i}`].join(end);
      expect(await importText(text)).toMatchObject({ code: 0, report: { inserted: 1 } });
    }
    expect(await importText('\ufeff{"id":9,"petId":1,"quantity":1}')).toMatchObject({ code: 0 });
    expect(await listedIds()).toEqual([0n, 1n, 9n]);
  });

  test.each([
    'id;petId;quantity;shipDate\r\n1;1;1;\r\n;;;',
    'id\tpetId\tquantity\n1\t1\t1',
    ' ID ,PetId,\u00a0QUANTITY\u00a0\n1, 1 ,1',
    'id,petId,quantity,complete,status\n"1","1","1",TRUE,shipped,,,\n,,,,,,,',
  ])('may be as a spreadsheet writes it: %j', async (text) => {
    expect(await importText(text)).toMatchObject({ code: 0, report: { read: 1, inserted: 1 } });
    expect(await listed()).toMatchObject([{ id: 1n, petId: 1n, quantity: 1 }]);
  });

  test.each([
    ['id,petId,quantity,colour\n1,1,1,red', 'line 1: unknown column "colour"'],
    ['id|petId|quantity\n1|1|1', 'line 1: unknown column "id|petId|quantity"'],
    ['Orders of May\n\nid,petId,quantity\n1,1,1', 'line 1: unknown column "Orders of May". The file must be NDJSON'],
    ['1,1,1,,FALSE,pending', 'line 1: unknown column "1". The file must be NDJSON'],
    ['id,petId,quan\u200btity\n', 'line 1: unknown column "quan\\u{200b}tity"'],
    ['ID,id,petId,quantity\n', 'line 1: duplicate column id'],
    ['id,petId,quantity\n="1",1,1', 'line 2: misplaced quote'],
    ['id,id,petId,quantity\n', 'line 1: duplicate column id'],
    ['\n\nid,quantity\n1,1', 'line 3: column petId is missing'],
    ['id,petId,quantity\n1,"1,1\n2,1,1\n', 'line 2: a quote that opens on this line is not closed'],
    ['id,petId,quantity\n\n1,5" nail,1\n2,"1,1\n', 'line 3: misplaced quote'],
    ['PK\x03\x04\x14\0', 'line 1: unknown column'],
    [gzipSync('id,petId,quantity\n1,1,1'), 'line 1: unknown column'],
    [
      '<!DOCTYPE html>\n<title>Log in</title>',
      'line 1: unknown column "<!DOCTYPE html>". The file must be NDJSON, or CSV',
    ],
    ['sep=;\nid;petId;quantity\n1;1;1', 'line 1: unknown column "sep="'],
    ['id,petId,quantity\r1,1,1', 'line 1: unknown column "quantity\\r1"'],
  ])('must be one of the formats: %j', async (text, complaint) => {
    const { code, report, stderr } = await importText(text, ['--skip-bad']);
    expect([code, report]).toEqual([1, null]);
    expect(stderr).toContain(complaint);
    expect(stderr.trimEnd()).not.toContain('\n');
  });
});

test('pets are imported, and bad ones reported', async () => {
  const text = [
    'id,name', // 1
    '1,Rex', // 2
    '2,"a ""big""', // 3
    'dog"', // 4
    '-9223372036854775808,🐈', // 5
    '3,', // 6
    '1,Bella', // 7
    'x,Otto', // 8
  ].join('\n');
  const call = await commandLine.run(['pets', 'import', '-', '--json', '--skip-bad'], { stdin: text });
  expect(call.code).toBe(0);
  expect(JSON.parse(call.stdout)).toEqual({
    read: 6,
    inserted: 3,
    rejected: [
      { line: 6, reason: 'name is missing (a text of at least one character, without NUL)' },
      { line: 7, reason: 'the id 1 repeats that of an earlier line' },
      { line: 8, reason: expect.stringMatching(/^id must be a whole number .*, not "x"$/) },
    ],
  });
  const again = await commandLine.run(['pets', 'import', '-', '--json'], {
    stdin: '{"id":2,"name":"Rex"}\n{"id":4,"name":"\\u0000"}\n{"id":5,"name":"\\ud800"}\n',
  });
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({ inserted: 0, rejected: [{ line: 1 }, { line: 2 }, { line: 3 }] });
});
