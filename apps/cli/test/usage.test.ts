import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describeLimits, PLANS } from '@petstore/domain';
import { readCommit } from '@petstore/runtime';
import { createTemporaryFolder, createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { MIGRATED, petstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

/** With the commit, unless the files are no checkout. */
const COMMIT = readCommit()?.slice(0, 12);
const VERSION = COMMIT === undefined ? `${manifest.version}\n` : `${manifest.version}+${COMMIT}\n`;

const CHECKOUT = join(import.meta.dirname, '../../..');

/** A file of commands, each followed by what it says. `vitest run -u` writes it anew. */
test.each([
  { transcript: 'wrong-usage.txt', exitCode: 2, commands: 27 },
  { transcript: 'failures.txt', exitCode: 1, commands: 17 },
])('each command of $transcript ends with $exitCode, and says what is wrong in words', async (expected) => {
  const file = join(import.meta.dirname, expected.transcript);
  const lines = readFileSync(file, 'utf8').match(/^\$ .+/gm) ?? [];
  expect(lines).toHaveLength(expected.commands);
  const said: string[] = [];
  for (const line of lines) {
    const [settings = '', words = ''] = line.slice(2).split(/(?<=^| )petstore /);
    const environment = Object.fromEntries(Array.from(settings.matchAll(/(\w+)=(\S+)/g), ([, ...pair]) => pair));
    const options = { environment, workingFolder: commandLine.folder };
    const { code, stdout, stderr } = await commandLine.run(words.split(' '), options);
    expect([code, stdout], line).toEqual([expected.exitCode, '']);
    expect(stderr, line).toMatch(expected.exitCode === 1 ? /^petstore: [^\n]+\n$/ : /^petstore: /);
    expect(stderr, line).not.toMatch(/ at .*\.ts:\d+|hunter2/); // no stack, no password
    said.push(`${line}\n${stderr.trimEnd().replaceAll(commandLine.folder, '(here)')}\n`);
  }
  await expect(said.join('\n')).toMatchFileSnapshot(file);
});

test.each([
  ['', ''],
  ['help dance', ''],
  ['help keys dance', 'keys '],
  ['keys help dance', 'keys '],
])('petstore %s ends with 2, and the help for what there is on standard error', async (line, group) => {
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  const { stdout: help } = await petstore(words(`${group}--help`));
  expect(await petstore(words(line))).toEqual({ code: 2, stdout: '', stderr: help });
});

test.each([
  [
    'keys revoke',
    'pso_live_abcdEFGH_00000000000000000000000000000000abcdef',
    'ID must be the eight letters and digits',
  ],
  ['keys create --plan free --name', 'n'.repeat(201), '--name must have at most 200 characters'],
  ['keys revoke abcdEFGH --as', 'n'.repeat(101), '--as must be one line of 1 to 100 printable characters'],
  ['orders generate --count 1 --as', 'a\u001bb', '--as must be one line of 1 to 100 printable characters'],
])('petstore %s %j ends with 2, and the value, which may be a key, is not shown', async (line, value, complaint) => {
  const { code, stdout, stderr } = await commandLine.run([...line.split(' '), value]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(new RegExp(`^petstore: ${complaint}`));
  expect(stderr).not.toContain(value);
});

test('settings of the server alone are not read, right or wrong', async () => {
  const environment = { CORS_ORIGINS: 'bogus/x', PORT: 'none' };
  expect(await commandLine.json(['keys', 'list'], { environment })).toEqual([]);
});

test('./petstore is the command, from any folder', () => {
  using folder = createTemporaryFolder();
  const link = join(folder.path, 'petstore');
  symlinkSync(join(CHECKOUT, 'petstore'), link);
  const result = spawnSync(link, ['dance'], { cwd: folder.path, encoding: 'utf8' });
  // Nothing but what the command itself says.
  expect(result).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/^petstore: unknown/) });
});

test("./petstore runs on the machine's Node where install scripts, one of which installs Node, are switched off", () => {
  using folder = createTemporaryFolder();
  const command = join(folder.path, 'petstore');
  copyFileSync(join(CHECKOUT, 'petstore'), command);
  symlinkSync(join(CHECKOUT, 'apps'), join(folder.path, 'apps'));
  const call = () => spawnSync(command, ['--version'], { encoding: 'utf8' });
  expect(call()).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^petstore: Dependencies are not installed/),
  });
  mkdirSync(join(folder.path, 'node_modules'));
  expect(call()).toMatchObject({ status: 0, stdout: VERSION, stderr: '' });
});

test('help is printed in each of its forms, and ends with 0', async () => {
  for (const ways of [
    ['orders --help', 'help orders', 'orders help'],
    ['--help', 'help'],
    ['orders import --help', 'orders help import', 'help orders import'],
  ]) {
    const results = await Promise.all(ways.map((line) => petstore(line.split(' '))));
    for (const { code, stdout, stderr } of results) {
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain('Usage: petstore');
      expect(stdout).toBe(results[0]?.stdout);
    }
  }
});

test('help gives the limits of every plan', async () => {
  for (const command of ['create', 'set-plan']) {
    const { stdout } = await petstore(['keys', command, '--help']);
    for (const [name, { limits }] of Object.entries(PLANS)) {
      const said = typeof limits === 'string' ? 'as --per-minute and --per-day say' : describeLimits(limits);
      expect(stdout.replace(/ +/g, ' ')).toContain(`\n ${name} ${said}\n`);
    }
  }
});

/** The help of each command, which is named as it is called. */
async function readAllHelp(command = 'petstore'): Promise<readonly (readonly [command: string, help: string])[]> {
  const { stdout: help } = await petstore([...command.split(' ').slice(1), '--help']);
  const list = help.split('\n\n').find((section) => section.startsWith('Commands:')) ?? '';
  const names = [...list.matchAll(/^ {2}([a-z]\S*)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  const below = await Promise.all(names.map((name) => readAllHelp(`${command} ${name}`)));
  return [[command, help], ...below.flat()];
}

test('help fits 80 columns, and describes each command, argument and option in the same manner', async () => {
  const all = await readAllHelp();
  expect(all.length).toBeGreaterThan(20);
  for (const [command, help] of all) {
    const [usage = '', description, ...sections] = help.trimEnd().split('\n\n');
    expect(usage).toMatch(new RegExp(`^Usage: ${command} `));
    expect(description).toMatch(/^[A-Z].*[^.]$/);
    for (const section of sections.filter((text) => /^(?:Arguments|Options|Commands):/.test(text))) {
      // What goes on in the next line stands where descriptions do.
      for (const [line, described] of section.matchAll(/^ {2}\S.*? {2,}(.*)$/gm)) {
        expect(described, `${command}: ${line}`).toMatch(/^(?:[A-Z]|0 to )/);
      }
    }
    expect(Math.max(...help.split('\n').map((line) => line.length)), command).toBeLessThanOrEqual(80);
  }
});

test('help says what is required, what the settings are, and shows examples that hold', async () => {
  const all = new Map(await readAllHelp());
  const help = all.get('petstore') ?? '';
  for (const name of [
    'DATABASE_URL',
    'REDIS_URL',
    'DATA_DIR',
    'MIGRATE',
    'Documentation: docs/settings.md, docs/operations.md',
  ]) {
    expect(help).toContain(name);
  }
  const examples = help.match(/^ {2}petstore [a-z].*$/gm)?.map((line) => line.trim()) ?? [];
  expect(examples.length).toBeGreaterThan(3);
  for (const example of examples) {
    const called = [...all.keys()].findLast((name) => `${example} `.startsWith(`${name} `)) ?? '';
    for (const option of example.match(/--[a-z-]+/g) ?? [])
      expect(all.get(called), example).toMatch(new RegExp(`${option}(?![\\w-])`));
  }
  expect(all.get('petstore keys create')).toMatch(/--plan <plan> +Plan \(required\)/);
  expect(all.get('petstore orders generate')).toMatch(/--count <n> .*\(required\)/);
});

describe('migrate', () => {
  type Work = (environment: Record<string, string>, client: pg.Client) => Promise<void>;

  async function withDatabase(options: { readonly template?: typeof MIGRATED }, work: Work): Promise<void> {
    await using database = await createTestDatabase(options);
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      await work({ DATABASE_URL: database.url, DATA_DIR: commandLine.folder }, client);
    } finally {
      await client.end();
    }
  }

  test('brings an empty database up to date, and --status does not', async () => {
    await withDatabase({}, async (environment) => {
      const json = async (...args: string[]): Promise<unknown> => {
        const { code, stdout } = await petstore([...args, '--json'], { environment });
        expect(code).toBe(0);
        return JSON.parse(stdout);
      };
      const pending = { applied: [], pending: expect.arrayContaining(['0001-initial-schema']) };
      const status = await json('migrate', '--status');
      expect(status).toEqual(pending);
      expect(await json('migrate', '--status')).toEqual(status);
      const { pending: names } = status as { readonly pending: readonly string[] };
      expect(await json('migrate')).toEqual({ applied: names });
      expect(await json('migrate')).toEqual({ applied: [] });
      expect(await json('migrate', '--status')).toEqual({ applied: names, pending: [] });
    });
  });

  test('--status names the sequences that give ids in use, and other commands move them', async () => {
    await withDatabase({}, async (environment, client) => {
      // Other commands migrate, too.
      expect((await petstore(['orders', 'list'], { environment })).code).toBe(0);
      await client.query(
        `insert into key_events (id, action, at, actor, key_id) values (7, 'ban.set', now(), 'service', '-')`,
      );
      const { code, stdout, stderr } = await petstore(['migrate', '--status'], { environment });
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain('behind   the sequence key_events_id_seq (it generates ids that are in use)\n');
      const { stdout: json } = await petstore(['migrate', '--status', '--json'], { environment });
      expect(JSON.parse(json)).toMatchObject({ pending: [], sequencesBehind: ['key_events_id_seq'] });
      expect((await petstore(['orders', 'list'], { environment })).code).toBe(0);
      expect((await petstore(['migrate', '--status'], { environment })).stdout).not.toContain('behind');
    });
  });

  test('fails if a sequence stays behind, as one does while events are written, and says which and why', async () => {
    await withDatabase({ template: MIGRATED }, async (environment, client) => {
      await client.query('update order_events_deleted set through_id = 7');
      await client.query('begin; lock table order_events in row exclusive mode');
      const { code, stdout, stderr } = await petstore(['migrate', '--json'], { environment });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^petstore: the sequence order_events_id_seq stays behind its table: .*lock.*\n$/);
      await client.query('rollback');
      expect((await petstore(['migrate'], { environment })).code).toBe(0);
      const { rows } = await client.query(`select last_value from order_events_id_seq`);
      expect(rows).toEqual([{ last_value: '7' }]);
    });
  });

  test('goes on beside a newer migration that lets this release run, and --status names it', async () => {
    await withDatabase({ template: MIGRATED }, async (environment, client) => {
      await client.query(`insert into schema_migrations (name) values ('9999-from-the-future');
        insert into schema_releases values ('9999-from-the-future', '0001-initial-schema')`);
      expect((await petstore(['orders', 'list'], { environment })).code).toBe(0);
      const { stdout } = await petstore(['migrate', '--status'], { environment });
      expect(stdout).toContain('applied  9999-from-the-future (of a newer, compatible release)\n');
      const { stdout: json } = await petstore(['migrate', '--status', '--json'], { environment });
      expect(JSON.parse(json)).toMatchObject({ pending: [], newer: ['9999-from-the-future'] });
    });
  });

  test('changes nothing with MIGRATE=off, and nothing needs a change if the database is up to date', async () => {
    await withDatabase({}, async (environment, client) => {
      for (const args of [['orders', 'list'], ['keys', 'list'], ['migrate']]) {
        const { code, stdout, stderr } = await petstore(args, { environment: { ...environment, MIGRATE: 'off' } });
        expect([code, stdout]).toEqual([1, '']);
        expect(stderr).toContain('MIGRATE is off');
      }
      const { rows } = await client.query(`select from pg_class where relname = 'orders'`);
      expect(rows).toEqual([]);
    });
    const { code } = await commandLine.run(['orders', 'list'], { environment: { MIGRATE: 'off' } });
    expect(code).toBe(0);
  });

  const OF_ANOTHER_PROGRAM = 'create table orders (of_another_program text)';
  const OF_A_NEWER_RELEASE = `insert into schema_migrations (name) values ('9999-from-the-future')`;
  test.each([
    [
      OF_ANOTHER_PROGRAM,
      /^petstore: the database cannot be migrated: relation "orders" already exists; give the service a database, or .* of its own\n$/,
    ],
    [OF_A_NEWER_RELEASE, /^petstore: the database was migrated by a newer version .*9999-from-the-future.*\n$/],
  ])('refuses a database that is not its own: %s', async (statement, message) => {
    await withDatabase(statement === OF_A_NEWER_RELEASE ? { template: MIGRATED } : {}, async (environment, client) => {
      await client.query(statement);
      for (const args of [['migrate'], ['orders', 'list', '--json']]) {
        const { code, stdout, stderr } = await petstore(args, { environment });
        expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(message)]);
      }
    });
  });
});
