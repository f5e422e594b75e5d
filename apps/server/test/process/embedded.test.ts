import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bearer, listOrderIds } from './support/list-orders.ts';
import { readDemoKeys, SpawnedServer, useDataFolder } from './support/spawned-server.ts';
import { useStartedDataFolder } from './support/started-once.ts';
import { readBannerOnTerminal } from './support/terminal.ts';

const COMMAND_LINE = join(import.meta.dirname, '../../../cli/src/main.js');

/** An address that the server does not know to be a loopback one, though the system does: no test opens a port to others. */
const REACHABLE = '127.1';

/** The plans and keys of a banner. */
const keysOf = (banner: string) =>
  [...banner.matchAll(/^(?: {2}Demo keys| {11}) (\w+) +(pso_test_\w+)$/gm)].map(([, plan, key]) => [plan, key]);

/** Runs a keys command of the CLI. */
const administerKeys = (dataFolder: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [COMMAND_LINE, 'keys', ...args], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataFolder },
  });

const copyStarted = useStartedDataFolder();

test('a first start offers a key per plan, and orders and pets to look at', async () => {
  using folder = useDataFolder();
  await using server = new SpawnedServer(folder.path);
  const url = await server.url();
  const keys = await server.demoKeys();
  expect([...keys.keys()]).toEqual(['free', 'pro', 'business', 'enterprise']);
  for (const key of keys.values()) expect(await listOrderIds(url, key)).toHaveLength(20);
  const pet = await fetch(`${url}/v1/pets/1`, { headers: bearer(keys.get('free')) });
  expect(await pet.json()).toEqual({ id: 1, name: 'Bella' });
  expect(server.stdout).toContain(`  REST      ${url}/v1\n`);
  expect(server.stdout).toContain(`  tRPC      ${url}/trpc\n`);
  expect(server.stdout).toContain(`  Health    ${await server.adminUrl()}/readyz`);
  expect(server.stdout).toMatch(/ {2}Limits {4}private Redis/);
  expect(statSync(join(folder.path, 'demo-keys.json')).mode & 0o777).toBe(0o600);
  for (const key of keys.values()) expect(server.stdout + server.stderr).not.toContain(key);
});

test('whole demo keys are shown on a terminal, and elsewhere only the path of their file', async () => {
  using folder = copyStarted();
  await using server = new SpawnedServer(folder.path, { LOG_FORMAT: 'pretty' });
  const keys = await server.demoKeys();
  expect(server.stdout).toContain(`  Demo keys ${join(folder.path, 'demo-keys.json')}\n`);
  for (const key of keys.values()) expect(server.stdout + server.stderr).not.toContain(key);
  await server.stop();
  const banner = await readBannerOnTerminal(folder.path);
  expect(keysOf(banner)).toEqual([...keys]);
  const lines = banner
    .slice(banner.indexOf('Petstore Orders'), banner.lastIndexOf('listening on'))
    .trimEnd()
    .split('\n');
  const [curl] = lines.filter((line) => line.startsWith('  curl '));
  expect(curl).toContain(`"Authorization: Bearer ${keys.get('free')}"`);
  // In a terminal of 24 rows and 80 columns nothing scrolls away.
  expect(lines.filter((line) => line.length > 80 && !line.includes(folder.path))).toEqual([curl]);
  expect(lines.length).toBeLessThan(20);
  expect(lines.at(-1)).toMatch(/^ {2}REST {6}http:.*\/v1$/);
});

test('demo keys are revoked by a server that others can reach, and replaced by one that they cannot', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  {
    await using open = new SpawnedServer(folder.path, { HOST: REACHABLE });
    const url = await open.url();
    expect(await open.demoKeys()).toEqual(new Map());
    for (const key of keys.values()) {
      expect((await fetch(`${url}/v1/store/orders`, { headers: bearer(key) })).status).toBe(401);
    }
    expect(open.stdout).toMatch(/"level":"warn".*the demo keys were revoked: others can reach HOST/);
    expect(open.stdout).not.toContain('Demo keys');
  }
  await using closed = new SpawnedServer(folder.path);
  const url = await closed.url();
  const others = await closed.demoKeys();
  expect([...others.keys()]).toEqual([...keys.keys()]);
  for (const [plan, key] of others) {
    expect(key).not.toBe(keys.get(plan));
    expect(await listOrderIds(url, key)).toHaveLength(20);
  }
});

test('a first start that others can reach creates orders, and no demo keys', async () => {
  using folder = useDataFolder();
  await using open = new SpawnedServer(folder.path, { HOST: REACHABLE });
  const url = await open.url();
  expect(await open.demoKeys()).toEqual(new Map());
  expect(open.stdout).not.toContain('revoked');
  const { stdout } = await administerKeys(folder.path, 'create', '--plan', 'free', '--json');
  const { key } = JSON.parse(stdout) as { key: string }; // as documented
  expect(await listOrderIds(url, key)).toHaveLength(20);
  const { stdout: list } = await administerKeys(folder.path, 'list', '--json');
  expect(JSON.parse(list)).toHaveLength(1);
});

test('data, demo keys and limits are kept over a restart, and the database is seeded only once', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  const cancelFirst = (url: string) =>
    fetch(`${url}/v1/store/orders/1`, { method: 'DELETE', headers: bearer(keys.get('pro')) });
  const list = (url: string) => fetch(`${url}/v1/store/orders`, { headers: bearer(keys.get('free')) });
  {
    await using first = new SpawnedServer(folder.path);
    const url = await first.url();
    expect((await cancelFirst(url)).status).toBe(204);
    for (let used = 1; used <= 10; used++) await list(url);
  }
  await using second = new SpawnedServer(folder.path);
  expect(await second.demoKeys()).toEqual(keys);
  const url = await second.url();
  const response = await list(url);
  expect(await response.json()).toHaveLength(20);
  // Not exact: a request for which Redis took more than 100 ms may be missing.
  expect(Number(response.headers.get('x-ratelimit-remaining'))).toBeLessThan(55);
  expect(await (await cancelFirst(url)).json()).toMatchObject({ code: 'order_already_cancelled' });
});

test('a start shows demo keys as they are by then: none that is revoked or replaced, each with its plan', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  {
    await using first = new SpawnedServer(folder.path);
    await first.url();
    const idOf = (plan: string) => keys.get(plan)?.split('_')[2] ?? '';
    const limits = ['--per-minute', '1234', '--per-day', '56789'];
    await administerKeys(folder.path, 'set-plan', idOf('free'), '--plan', 'enterprise', ...limits);
    await administerKeys(folder.path, 'rotate', idOf('pro'), '--overlap', '0s');
    await administerKeys(folder.path, 'rotate', idOf('business'), '--overlap', '1h');
    await administerKeys(folder.path, 'revoke', idOf('enterprise'));
  }
  const banner = await readBannerOnTerminal(folder.path);
  expect(keysOf(banner)).toEqual([
    ['enterprise', keys.get('free')],
    ['business', keys.get('business')],
  ]);
});
