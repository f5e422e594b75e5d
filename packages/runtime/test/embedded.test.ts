import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { isAlive } from '../src/process/server-process.ts';
import { expectToEnd, ORDINARY_USER, User, useDataFolders } from './support/data-folder-user.ts';
import { query } from './support/query.ts';

const folders = useDataFolders();
let seed: string;
let folder: string;

/** A data folder in which the database has been made, which takes a while. */
beforeAll(async () => {
  seed = join(mkdtempSync(join(tmpdir(), 'petstore-runtime-')), 'seed');
  await using user = new User(seed);
  await user.said();
});
afterAll(() => rmSync(join(seed, '..'), { recursive: true, force: true }));
beforeEach(() => {
  folder = folders.path;
});

const useSeed = () => execFileSync('cp', ['-a', seed, folder]);

describe('the PostgreSQL below a data folder', () => {
  test('keeps its data over a restart', async () => {
    {
      await using user = new User(folder);
      const { url } = await user.said();
      await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    }
    await using user = new User(folder);
    const { url } = await user.said();
    expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('ends with its last user, not with the one that started it', async () => {
    useSeed();
    const first = new User(folder);
    const { url, pid } = await first.said();
    const second = new User(folder);
    expect(await second.said()).toMatchObject({ url, pid });
    await first.leave();
    expect(await query(url, 'SELECT 1')).toHaveLength(1);
    await second.leave();
    expect(isAlive(pid)).toBe(false);
  });

  test('is one, even when many users come at once', async () => {
    const users = Array.from({ length: 5 }, () => new User(folder));
    const said = await Promise.all(users.map((user) => user.said()));
    expect(new Set(said.map(({ pid }) => pid)).size).toBe(1);
    await Promise.all(users.map((user) => user.leave()));
    expect(isAlive(said[0]?.pid ?? 0)).toBe(false);
  });

  test('is stopped when its last user was killed', async () => {
    useSeed();
    const first = new User(folder);
    const { pid } = await first.said();
    const second = new User(folder);
    await second.said();
    await first.kill();
    await sleep(500);
    expect(isAlive(pid), 'while somebody uses it').toBe(true);
    await second.kill();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is taken over where even the guard of its user was killed, and then stopped', async () => {
    useSeed();
    const first = new User(folder);
    const { url, pid } = await first.said();
    await query(url, 'CREATE TABLE kept ()');
    await first.killWithGuards();
    expect(isAlive(pid)).toBe(true);
    const second = new User(folder);
    expect(await second.said()).toMatchObject({ url, pid });
    expect(await query(url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 0 }]);
    await second.leave();
    expect(isAlive(pid)).toBe(false);
  });

  test('serves who comes just as its last user is killed', async () => {
    useSeed();
    const first = new User(folder);
    await query((await first.said()).url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.kill();
    await using second = new User(folder);
    const { url } = await second.said();
    await sleep(1_000); // the guard of the first has come by in the meantime
    expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('starts again when it was killed together with its user', async () => {
    useSeed();
    const first = new User(folder);
    const { url, pid } = await first.said();
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.killWithGuards();
    process.kill(pid, 'SIGKILL');
    await using second = new User(folder);
    const again = await second.said();
    expect(await query(again.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('is not mistaken for another process that got its pid', async () => {
    useSeed();
    await using first = new User(folder);
    await first.said();
    await first.leave();
    const stale = [process.pid, join(folder, 'postgres'), '1', '1', '', '127.0.0.1', '', 'ready   ', ''];
    writeFileSync(join(folder, 'postgres', 'postmaster.pid'), stale.join('\n'));
    await using second = new User(folder);
    const { url, pid } = await second.said();
    expect(pid).not.toBe(process.pid);
    expect(await query(url, 'SELECT 1')).toHaveLength(1);
  });

  test('is stopped even by a user that ends without a good-bye', async () => {
    useSeed();
    const user = new User(folder, ['exit']);
    const { pid } = await user.said();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is started again on its port when it dies under a server', async () => {
    useSeed();
    await using server = new User(folder, ['server']);
    const { url, pid } = await server.said();
    process.kill(pid, 'SIGKILL');
    expect(await server.said()).toEqual({ restarted: true });
    expect(await query(url, 'SELECT 1')).toHaveLength(1);
    const [line] = readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
    expect(Number(line)).not.toBe(pid);
    expectToEnd(Number(line));
  });

  test('is finished where an earlier start was cut off while it was made', async () => {
    mkdirSync(join(folder, 'postgres'), { recursive: true });
    writeFileSync(join(folder, 'postgres', 'half'), '');
    await using user = new User(folder);
    const { url } = await user.said();
    expect(await query(url, 'SELECT 1')).toHaveLength(1);
  });

  test('asks for a password, which only the owner can read', async () => {
    useSeed();
    await using user = new User(folder);
    const { url } = await user.said();
    const wrong = url.replace(/:[^:@]+@/, ':wrong@');
    await expect(query(wrong, 'SELECT 1')).rejects.toThrow('password authentication failed');
    for (const name of ['postgres.password', 'postgres-service.password']) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
  });
});

test('only one server at a time runs on a data folder', async () => {
  useSeed();
  await using first = new User(folder, ['server']);
  await first.said();
  await using second = new User(folder, ['server']);
  const { error } = await second.said();
  expect(error).toBe(
    `RuntimeError: Another server already runs on the data folder ${folder}. Stop it, or set DATA_DIR to another.`,
  );
});

describe('a data folder', () => {
  test('that a file is in the way of is refused in one line', async () => {
    writeFileSync(folder, '');
    await using user = new User(join(folder, 'below'));
    const { error } = await user.said();
    expect(error).toMatch(
      /^RuntimeError: The data folder \/.+ cannot be written to \(.+\)\. Set DATA_DIR to another\.$/,
    );
  });

  test('that may not be written to is refused in one line', async () => {
    mkdirSync(folder, { mode: 0o555 });
    chmodSync(join(folder, '..'), 0o755);
    await using user = new User(folder, [], ORDINARY_USER);
    const { error } = await user.said();
    expect(error).toMatch(/^RuntimeError: The data folder .+ cannot be written to \(permission denied\)/);
  });

  test('works for an ordinary user, then for whoever runs the tests, who may be root, and again', async () => {
    mkdirSync(folder);
    chmodSync(join(folder, '..'), 0o755);
    if (ORDINARY_USER !== undefined) chownSync(folder, ORDINARY_USER, ORDINARY_USER);
    {
      await using ordinary = new User(folder, [], ORDINARY_USER);
      await query((await ordinary.said()).url, 'CREATE TABLE kept ()');
    }
    {
      await using second = new User(folder);
      expect(await query((await second.said()).url, 'SELECT * FROM kept')).toEqual([]);
    }
    await using third = new User(folder, [], ORDINARY_USER);
    expect(await query((await third.said()).url, 'SELECT * FROM kept')).toEqual([]);
  });

  test('below one that is closed to others works', async () => {
    chmodSync(join(folder, '..'), 0o700);
    await using user = new User(folder);
    expect(await query((await user.said()).url, 'SELECT 1')).toHaveLength(1);
  });
});
