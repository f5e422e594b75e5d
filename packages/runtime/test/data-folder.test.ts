import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { findEmbeddedPostgres } from '../src/index.ts';
import { commandAsUser } from '../src/process/unprivileged-user.ts';
import { ORDINARY_USER, query, Server, useDataFolders } from './support/data-folder-user.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
});

/** Runs what a message says. */
const run = (message = ''): void => void execFileSync('/bin/sh', ['-c', /Run: (.+)$/.exec(message)?.[1] ?? 'false']);

describe('a data folder', () => {
  test('is that of one server: another one is refused at once, in one line that names its process', async () => {
    folders.seed();
    await using first = new Server(folder);
    await first.said();
    const beganAtMs = performance.now();
    await using second = new Server(folder);
    expect((await second.said()).error).toBe(
      `RuntimeError: Another server already runs on the data folder ${folder}: process ${first.process.pid}. Stop it, or set DATA_DIR to another.`,
    );
    expect(performance.now() - beganAtMs).toBeLessThan(10_000);
  });

  test('is that of one server, also of several that come at once to make it', async () => {
    const servers = Array.from({ length: 3 }, () => new Server(folder));
    const said = await Promise.all(servers.map((server) => server.said()));
    expect(said.filter(({ url }) => url !== undefined)).toHaveLength(1);
    const winner = servers[said.findIndex(({ url }) => url !== undefined)];
    const refusal = new RegExp(`^RuntimeError: Another server already runs .+: process ${winner?.process.pid}\\. `);
    for (const { error } of said.filter(({ url }) => url === undefined)) expect(error).toMatch(refusal);
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('is waited for while its server is stopping, but not without end', async () => {
    folders.seed();
    await using first = new Server(folder);
    await query((await first.said()).url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.beginStopping(folder);
    await using refused = new Server(folder, { stoppingPatienceMs: 1_500 });
    const beganAtMs = performance.now();
    expect((await refused.said()).error).toMatch(/^RuntimeError: Another server already runs/);
    expect(performance.now() - beganAtMs).toBeGreaterThan(1_400);
    await using second = new Server(folder);
    await sleep(2_000); // longer than a server that is not stopping is waited for
    await first.stop();
    expect(await query((await second.said()).url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('that a file is in the way of is refused in one line', async () => {
    writeFileSync(folder, '');
    await using server = new Server(join(folder, 'below'));
    const { error } = await server.said();
    expect(error).toMatch(
      /^RuntimeError: The data folder \/.+ cannot be written to \(.+\)\. Set DATA_DIR to another\.$/,
    );
  });

  test('that may not be written to is refused in one line', async () => {
    mkdirSync(folder, { mode: 0o555 });
    chmodSync(join(folder, '..'), 0o755);
    await using server = new Server(folder, { uid: ORDINARY_USER });
    const { error } = await server.said();
    expect(error).toMatch(
      /^RuntimeError: The data folder .+ cannot be written to \(permission denied\)\. Set DATA_DIR to another \(or, as root: chown -R \d+:\d+ '.+'\)\.$/,
    );
  });

  test('that others can write to is refused in one line that says chmod: they could put links there', async () => {
    folders.seed();
    chmodSync(folder, 0o777);
    await using server = new Server(folder);
    const { error } = await server.said();
    expect(error).toMatch(/^RuntimeError: Other users can write to the data folder .+\. Run: .*chmod go-w '.+'$/);
    run(error);
    await using again = new Server(folder);
    expect(await query((await again.said()).url, 'SELECT 1')).toHaveLength(1);
  });

  test('of an ordinary user is refused for root in one line that says chown, after which it works', async () => {
    if (ORDINARY_USER === undefined) return; // only root can be another user here
    mkdirSync(folder);
    chmodSync(join(folder, '..'), 0o755);
    chownSync(folder, ORDINARY_USER, ORDINARY_USER);
    {
      await using ordinary = new Server(folder, { uid: ORDINARY_USER });
      await query((await ordinary.said()).url, 'CREATE TABLE kept ()');
    }
    await using refused = new Server(folder);
    const { error } = await refused.said();
    expect(error).toMatch(/^RuntimeError: Other users can write to the data folder .+\. Run: chown 0:0 '.+' && chmod/);
    run(error);
    await using server = new Server(folder);
    expect(await query((await server.said()).url, 'SELECT * FROM kept')).toEqual([]);
  });

  test.each([
    // As after `cp -r` by root; only root can give files away.
    [
      'belongs to another user',
      () =>
        ORDINARY_USER === undefined
          ? chmodSync(join(folder, 'postgres'), 0o750)
          : chownSync(join(folder, 'postgres'), 0, 0),
    ],
    ['has been opened to others', () => chmodSync(join(folder, 'postgres'), 0o755)],
  ])('whose PostgreSQL %s is refused in one line that says chown and chmod, after which it works', async (_, spoil) => {
    folders.seed();
    spoil();
    await using refused = new Server(folder);
    const { error } = await refused.said();
    expect(error).toMatch(
      /^RuntimeError: The user \d+:\d+ must own '.+\/postgres', and no other user may have access\. Run: chown -R \d+:\d+ '.+' && chmod 700 '.+'$/,
    );
    run(error);
    await using server = new Server(folder);
    expect(await query((await server.said()).url, 'SELECT 1')).toHaveLength(1);
  });
});

describe('a command', () => {
  test('finds the PostgreSQL of the server that runs on a data folder, and says how to start one if none does', async () => {
    const none = `No server runs on the data folder ${folder}, and DATABASE_URL is not set. Start one with "npx --yes pnpm@12 start", or set DATABASE_URL.`;
    await expect(findEmbeddedPostgres(folder)).rejects.toThrow(none);
    writeFileSync(folder, 'a file in its place');
    await expect(findEmbeddedPostgres(folder)).rejects.toThrow(none);
    rmSync(folder);
    folders.seed();
    await expect(findEmbeddedPostgres(folder)).rejects.toThrow(none);
    await using server = new Server(folder);
    const { url } = await server.said();
    expect(await findEmbeddedPostgres(folder)).toBe(url);
    await server.stop();
    await expect(findEmbeddedPostgres(folder)).rejects.toThrow(none);
  });

  test('of another user is told so', async () => {
    if (ORDINARY_USER === undefined) return; // root may everywhere, and only root can be another user here
    folders.seed();
    chmodSync(join(folder, '..'), 0o755);
    chmodSync(folder, 0o755);
    await using server = new Server(folder);
    await server.said();
    const script = `
      import { findEmbeddedPostgres } from '@petstore/runtime';
      await findEmbeddedPostgres(process.argv[1]).catch((error) => console.log(String(error)));
    `;
    const [file, ...args] = commandAsUser([process.execPath, '--input-type=module', '-e', script, folder], {
      uid: ORDINARY_USER,
      gid: ORDINARY_USER,
    });
    const said = execFileSync(file, args, { cwd: import.meta.dirname, encoding: 'utf8' });
    expect(said).toBe(
      `RuntimeError: The server on the data folder ${folder} is another user's. Run this as that user, or as root.\n`,
    );
  });
});

test('whom programs log in as may change the schema and its rows, and nothing beyond', async () => {
  folders.seed();
  await using server = new Server(folder);
  const { url } = await server.said();
  const [role] = await query(url, 'SELECT * FROM pg_roles WHERE rolname = current_user');
  expect(role).toMatchObject({
    rolname: 'petstore_service',
    rolsuper: false,
    rolcreaterole: false,
    rolcreatedb: false,
    rolreplication: false,
    rolbypassrls: false,
  });
  const memberships = `SELECT rolname FROM pg_roles WHERE pg_has_role(oid, 'MEMBER') AND rolname <> current_user`;
  expect(await query(url, memberships)).toEqual([]);
  await query(url, 'CREATE TABLE kept (id bigint GENERATED BY DEFAULT AS IDENTITY, name text)');
  await query(url, 'ALTER TABLE kept ADD CHECK (name <> $$$$)');
  for (const [statement, refusal] of [
    [`COPY (SELECT 1) TO PROGRAM 'cat'`, /permission denied to COPY to or from an external program/],
    [`COPY kept TO '/tmp/petstore-kept'`, /permission denied to COPY to a file/],
    [`SELECT pg_read_file('/etc/shadow')`, /permission denied for function pg_read_file/],
    ['CREATE ROLE another', /permission denied to create role/],
    [`ALTER SYSTEM SET shared_preload_libraries = 'x'`, /permission denied to set parameter/],
    ['SET ROLE petstore', /permission denied to set role/],
  ] as const) {
    await expect(query(url, statement), statement).rejects.toThrow(refusal);
  }
});

test('a PostgreSQL that root starts in a closed folder may read what is closed, and has no other right of root', async () => {
  folders.seed();
  await using server = new Server(folder); // below a folder that is closed to others
  const { pid } = await server.said();
  if (!existsSync('/proc/self/status')) return; // only Linux has capabilities
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const fieldOf = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
  const isRoot = process.getuid?.() === 0;
  expect(fieldOf('Uid')).not.toBe('0');
  const readSearch = (1 << 2).toString(16).padStart(16, '0'); // CAP_DAC_READ_SEARCH of capability.h
  const none = '0'.repeat(16);
  for (const name of ['CapEff', 'CapPrm', 'CapInh', 'CapAmb']) {
    expect([name, fieldOf(name)]).toEqual([name, isRoot ? readSearch : none]);
  }
  if (!isRoot) return;
  expect(fieldOf('CapBnd')).toBe(readSearch);
  expect(fieldOf('NoNewPrivs')).toBe('1');
});
