import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { isAlive } from '../src/process/server-process.ts';
import { expectToEnd, spawnSleep, User, useDataFolders } from './support/data-folder-user.ts';
import { query } from './support/query.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
});

describe('the PostgreSQL below a data folder', () => {
  test('keeps its data over a restart', async () => {
    folders.seed();
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
    folders.seed();
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
    expect(isAlive(pid)).toBe(false);
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

  test('is started again on its port when it dies under a server', async () => {
    folders.seed();
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
    folders.seed();
    await using user = new User(folder);
    const { url } = await user.said();
    const wrong = url.replace(/:[^:@]+@/, ':wrong@');
    await expect(query(wrong, 'SELECT 1')).rejects.toThrow('password authentication failed');
    for (const name of ['postgres.password', 'postgres-service.password']) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
  });
});
