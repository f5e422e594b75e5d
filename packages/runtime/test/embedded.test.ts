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
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { findEmbeddedPostgres } from '../src/index.ts';
import {
  connect,
  isAlive,
  ORDINARY_USER,
  PROGRAM,
  query,
  Server,
  spawnSleep,
  useDataFolders,
} from './support/data-folder-user.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
});

describe('the PostgreSQL below a data folder', () => {
  test('keeps its data over a restart, also in a copy of its folder, whatever characters the name has', async () => {
    const named = join(folder, '..', 'it\'s "quoted" $HOME `id` #1 50%25 a,b back\\slash größe ;&|');
    execFileSync('cp', ['-a', '--reflink=auto', inject('seed'), named]);
    {
      await using server = new Server(named);
      await query((await server.said()).url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    }
    execFileSync('cp', ['-a', named, folder]);
    for (const path of [named, folder]) {
      await using server = new Server(path);
      expect(await query((await server.said()).url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    }
  });

  test('ends with its server, under whoever uses it', async () => {
    folders.seed();
    const server = new Server(folder);
    const { url, pid } = await server.said();
    await using client = await connect(url);
    expect((await client.query('SELECT 1')).rowCount).toBe(1);
    await server.stop();
    expect(isAlive(pid)).toBe(false);
    await expect(client.query('SELECT 1')).rejects.toThrow();
  });

  test('goes on when its server is killed; the next one takes it over, under whoever uses it, and stops it', async () => {
    folders.seed();
    const first = new Server(folder);
    const { url, pid } = await first.said();
    await using client = await connect(url);
    await client.query('CREATE TABLE kept ()');
    await first.kill();
    expect(isAlive(pid)).toBe(true);
    const second = new Server(folder);
    expect(await second.said()).toMatchObject({ url, pid });
    expect((await client.query('SELECT count(*)::int AS n FROM kept')).rows).toEqual([{ n: 0 }]);
    await second.stop();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is waited for if its server was killed while it stopped', async () => {
    folders.seed();
    const first = new Server(folder);
    const { url, pid } = await first.said();
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const superuserUrl = url.replace('petstore_service', 'petstore');
    const findWriter = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'";
    const [writer] = await query(superuserUrl, findWriter);
    process.kill(Number(writer?.['pid']), 'SIGSTOP'); // without it the data is not written, and the end cannot come
    process.kill(pid, 'SIGINT');
    const pidFile = join(folder, 'postgres', 'postmaster.pid');
    await vi.waitUntil(() => readFileSync(pidFile, 'utf8').includes('stopping'), { timeout: 25_000 });
    await first.kill();
    await using second = new Server(folder);
    const said = second.said();
    await sleep(1_000);
    process.kill(Number(writer?.['pid']), 'SIGCONT');
    const again = await said;
    expect(again.pid).not.toBe(pid);
    expect(await query(again.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('starts again when it was killed together with its server', async () => {
    folders.seed();
    const first = new Server(folder);
    const { url, pid } = await first.said();
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.kill();
    process.kill(pid, 'SIGKILL');
    await using second = new Server(folder);
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
      await using server = new Server(folder);
      const { url, pid } = await server.said();
      expect(pid).not.toBe(other.pid);
      expect(await query(url, 'SELECT 1')).toHaveLength(1);
    }
    expect(isAlive(other.pid ?? 0)).toBe(true);
  });

  test('is stopped even by a server that ends without a good-bye', async () => {
    folders.seed();
    const server = new Server(folder, { role: 'exits' });
    const { pid } = await server.said();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is not started again when it is killed under a server, which is told', async () => {
    folders.seed();
    await using server = new Server(folder);
    const { url, pid } = await server.said();
    process.kill(pid, 'SIGKILL');
    expect(await server.said()).toEqual({ ended: true });
    // What it leaves behind for a moment may still hold the socket, and resets it.
    await expect(query(url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED|ENOENT|ECONNRESET/);
    await server.stop();
    await using next = new Server(folder);
    const again = await next.said();
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('can be reached by nobody but its owner, and root', async () => {
    folders.seed();
    await using server = new Server(folder);
    const { url } = await server.said();
    const socketFolder = new URL(url).searchParams.get('host') ?? '';
    expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '' }]);
    if (ORDINARY_USER === undefined) return;
    chmodSync(join(folder, '..'), 0o755);
    await using other = new Server(folder, { uid: ORDINARY_USER });
    expect((await other.said()).error).toMatch(
      /^RuntimeError: The data folder .+ cannot be written to \(permission denied\)/,
    );
  });

  test('is made in a folder whose path is longer than that of a socket, with special characters', async () => {
    const named = join(folder, `it's "50%" #1 $HOME, \`id\` ${'long '.repeat(30)}`);
    const server = new Server(named);
    const { url } = await server.said();
    expect(await findEmbeddedPostgres(named)).toBe(url);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
    expect(existsSync(new URL(url).searchParams.get('host') ?? '')).toBe(false);
  });

  test('is not used over the folder of another user, where its path is too long for a socket', async () => {
    folders.seed();
    const named = join(folder, '..', 'long '.repeat(30));
    renameSync(folder, named);
    const first = new Server(named);
    const socketFolder = new URL((await first.said()).url).searchParams.get('host') ?? '';
    await first.stop();
    mkdirSync(socketFolder);
    chmodSync(socketFolder, 0o777);
    await using impostor = createServer().listen(join(socketFolder, '.s.PGSQL.5432'));
    await once(impostor, 'listening');
    await using second = new Server(named);
    expect((await second.said()).error).toBe(
      `RuntimeError: ${socketFolder} belongs to another user, or is accessible to others. Remove it.`,
    );
    await expect(findEmbeddedPostgres(named)).rejects.toThrow(
      / is another user's\. Run this as that user, or as root\.$/,
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
    await using server = new Server(folder);
    expect((await server.said()).error).toMatch(reason);
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
});
