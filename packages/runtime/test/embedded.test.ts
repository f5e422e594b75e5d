import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { openEmbeddedPostgres } from '../src/index.ts';
import {
  connect,
  isAlive,
  ORDINARY_USER,
  PROGRAM,
  query,
  spawnSleep,
  User,
  useDataFolders,
} from './support/data-folder-user.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
});

/** The advisory lock that all users share. */
const LOCK_OF_USERS = 8_099_007_544;

describe('the PostgreSQL below a data folder', () => {
  test('keeps its data over a restart, whatever characters the name of its folder has', async () => {
    const named = join(folder, '..', 'it\'s "quoted" $HOME `id` #1 50%25 a,b back\\slash größe ;&|');
    execFileSync('cp', ['-a', '--reflink=auto', inject('seed'), named]);
    {
      await using user = new User(named);
      await query((await user.said()).url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    }
    await using user = new User(named);
    expect(await query((await user.said()).url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('ends with its last user, not with the one that started it', async () => {
    folders.seed();
    const first = new User(folder);
    const { url, pid } = await first.said();
    const second = new User(folder);
    expect(await second.said()).toMatchObject({ url, pid });
    await first.leave();
    expect(await query(url, 'SELECT 1')).toHaveLength(1);
    await second.leave();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is one, even when many users come at once', async () => {
    const users = Array.from({ length: 3 }, () => new User(folder));
    const said = await Promise.all(users.map((user) => user.said()));
    expect(new Set(said.map(({ pid }) => pid)).size).toBe(1);
    await Promise.all(users.map((user) => user.leave()));
    await vi.waitUntil(() => !isAlive(said[0]?.pid ?? 0), { timeout: 25_000 });
  });

  test('is stopped when its last user was killed', async () => {
    folders.seed();
    const first = new User(folder);
    const { pid } = await first.said();
    const second = new User(folder);
    await second.said();
    await first.killAndAwaitGuards();
    expect(isAlive(pid), 'while it is used').toBe(true);
    await second.kill();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is taken over where even the guard of its user was killed, and then stopped', async () => {
    folders.seed();
    const first = new User(folder);
    const { url, pid } = await first.said();
    await query(url, 'CREATE TABLE kept ()');
    await first.killWithGuards();
    expect(isAlive(pid)).toBe(true);
    const second = new User(folder);
    expect(await second.said()).toMatchObject({ url, pid });
    expect(await query(url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 0 }]);
    await second.leave();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('serves who comes just as its last user is killed', async () => {
    folders.seed();
    const first = new User(folder);
    await query((await first.said()).url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const killed = first.killAndAwaitGuards();
    await using second = new User(folder);
    const { url } = await second.said();
    await killed;
    expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('serves who comes just as its last user leaves', async () => {
    folders.seed();
    let last = await openEmbeddedPostgres(folder);
    for (let round = 0; round < 3; round++) {
      const leaving = last.release();
      await vi.waitUntil(() => !existsSync(join(folder, 'postgres', 'postmaster.pid')), {
        interval: 1,
        timeout: 25_000,
      });
      last = await openEmbeddedPostgres(folder);
      await leaving;
      expect(await query(last.url, 'SELECT 1')).toHaveLength(1);
    }
    await last.release();
  });

  test('that has begun to stop is not taken for one that goes on', async () => {
    folders.seed();
    const last = await openEmbeddedPostgres(folder);
    await using leaver = await connect(last.url);
    const pid = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    await leaver.query(`SELECT pg_advisory_lock_shared(${LOCK_OF_USERS})`);
    await last.release();
    await leaver.query(`SELECT pg_advisory_unlock_all(), pg_advisory_lock(${LOCK_OF_USERS})`);
    const coming = openEmbeddedPostgres(folder);
    await vi.waitUntil(async () => (await leaver.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount === 1, {
      timeout: 25_000,
    });
    // The connection of the one that leaves ends before the others know of it.
    process.kill(pid, 'SIGSTOP');
    process.kill(pid, 'SIGINT');
    await leaver.query('SELECT pg_advisory_unlock_all()');
    await sleep(100);
    process.kill(pid, 'SIGCONT');
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
    const next = await coming;
    expect(await query(next.url, 'SELECT 1')).toHaveLength(1);
    await next.release();
  });

  test('starts again when it was killed together with its user', async () => {
    folders.seed();
    const first = new User(folder);
    const { url, pid } = await first.said();
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.killWithGuards();
    process.kill(pid, 'SIGKILL');
    await using second = new User(folder);
    const again = await second.said();
    expect(await query(again.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('is not mistaken for another process of its user that got its pid, as after a power cut', async () => {
    folders.seed();
    // PostgreSQL itself would take a process that it may signal for its former server.
    await using other = spawnSleep(statSync(join(folder, 'postgres')));
    const stale = [other.pid, join(folder, 'postgres'), '1', '1', '', '127.0.0.1', '', 'ready   ', ''];
    writeFileSync(join(folder, 'postgres', 'postmaster.pid'), stale.join('\n'));
    {
      await using user = new User(folder);
      const { url, pid } = await user.said();
      expect(pid).not.toBe(other.pid);
      expect(await query(url, 'SELECT 1')).toHaveLength(1);
    }
    expect(isAlive(other.pid ?? 0)).toBe(true);
  });

  test('is stopped even by a user that ends without a good-bye', async () => {
    folders.seed();
    const user = new User(folder, ['exit']);
    const { pid } = await user.said();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('goes on under a server when one of its processes was killed, and is still its server', async () => {
    folders.seed();
    await using server = new User(folder, ['server']);
    const { url, pid } = await server.said();
    const findLocks = () => query(url, `SELECT pid FROM pg_locks WHERE locktype = 'advisory'`);
    const [lock] = await findLocks();
    process.kill(Number(lock?.['pid']), 'SIGKILL');
    const isBack = (locks: unknown[]) => locks.length === 2 && !locks.some((other) => isDeepStrictEqual(other, lock));
    await vi.waitUntil(() => findLocks().then(isBack, () => false), { timeout: 25_000 });
    expect(isAlive(pid)).toBe(true);
    await using second = new User(folder, ['server']);
    expect((await second.said()).error).toMatch(/Another server already runs/);
  });

  test('is not started again when it is killed under a server, which is told', async () => {
    folders.seed();
    await using server = new User(folder, ['server']);
    const { url, pid } = await server.said();
    process.kill(pid, 'SIGKILL');
    expect(await server.said()).toEqual({ ended: true });
    await expect(query(url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED|ENOENT/);
    await server.leave();
    await using next = new User(folder, ['server']);
    const again = await next.said();
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('does not write its log through a link', async () => {
    folders.seed();
    const other = join(folder, '..', 'other');
    writeFileSync(other, 'of another');
    rmSync(join(folder, 'postgres.log'));
    symlinkSync(other, join(folder, 'postgres.log'));
    await using user = new User(folder);
    expect((await user.said()).error).toBe(
      `RuntimeError: ${join(folder, 'postgres.log')} is a symbolic link, which is not followed. Remove it.`,
    );
    expect(readFileSync(other, 'utf8')).toBe('of another');
    expect(statSync(other).uid).toBe(process.getuid?.());
  });

  test('can be reached by nobody but its owner, and root', async () => {
    folders.seed();
    await using user = new User(folder);
    const { url } = await user.said();
    const socketFolder = new URL(url).searchParams.get('host') ?? '';
    expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '' }]);
    if (ORDINARY_USER === undefined) return;
    chmodSync(join(folder, '..'), 0o755);
    await using other = new User(folder, [], ORDINARY_USER);
    expect((await other.said()).error).toMatch(
      /^RuntimeError: The data folder .+ cannot be written to \(permission denied\)/,
    );
  });

  test('is made in a folder whose path is longer than that of a socket, with special characters', async () => {
    const named = join(folder, `it's "50%" #1 $HOME, \`id\` ${'long '.repeat(30)}`);
    const first = new User(named);
    const { url } = await first.said();
    const second = new User(named);
    expect((await second.said()).url).toBe(url);
    await first.leave();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await second.leave();
    expect(existsSync(new URL(url).searchParams.get('host') ?? '')).toBe(false);
  });

  test('is not used over the folder of another user, where its path is too long for a socket', async () => {
    folders.seed();
    const named = join(folder, '..', 'long '.repeat(30));
    renameSync(folder, named);
    const first = new User(named);
    const socketFolder = new URL((await first.said()).url).searchParams.get('host') ?? '';
    await first.leave();
    mkdirSync(socketFolder);
    chmodSync(socketFolder, 0o777);
    await using impostor = createServer().listen(join(socketFolder, '.s.PGSQL.5432'));
    await once(impostor, 'listening');
    await using second = new User(named);
    expect((await second.said()).error).toBe(
      `RuntimeError: The folder ${socketFolder} belongs to another user, or is accessible to others. Set DATA_DIR to another.`,
    );
    rmSync(socketFolder, { recursive: true });
  });

  test.each([
    [
      'cannot start',
      () => appendFileSync(join(folder, 'postgres', 'postgresql.conf'), 'max_wal_senders = nonsense\n'),
      /^RuntimeError: PostgreSQL did not start: configuration file ".+" contains errors \(its log: .+postgres\.log\)$/,
    ],
    [
      'is newer than its data',
      () => writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '17\n'),
      /^RuntimeError: PostgreSQL did not start: database files are incompatible with server\. The data directory was initialized by PostgreSQL version 17, which is not compatible with this version .*\(its log: /,
    ],
  ])('that %s says why, in its own last words', async (_, spoil, reason) => {
    folders.seed();
    spoil();
    await using user = new User(folder);
    expect((await user.said()).error).toMatch(reason);
  });

  test('that cannot be made says why in one line', async () => {
    // As on a full disk.
    const args = ['-c', 'ulimit -f 64; exec "$0" "$@"', process.execPath, PROGRAM, folder];
    const said = JSON.parse(execFileSync('/bin/sh', args, { encoding: 'utf8', input: '' }));
    expect(said.error).toMatch(
      /^RuntimeError: PostgreSQL could not create its data folder .+\/postgres: could not .+$/,
    );
    expect(existsSync(join(folder, 'postgres'))).toBe(false);
  });

  test('lets one user after another do what only one may do at a time', async () => {
    folders.seed();
    const [first, second] = await Promise.all([openEmbeddedPostgres(folder), openEmbeddedPostgres(folder)]);
    let inside = 0;
    const work = async () => {
      inside++;
      await sleep(50);
      expect(inside--).toBe(1);
    };
    await Promise.all([first.exclusively(work), second.exclusively(work)]);
    await Promise.all([first.release(), second.release()]);
  });
});
