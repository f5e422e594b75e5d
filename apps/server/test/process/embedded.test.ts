import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { isRunning, ServerUnderTest, useDataFolder } from './support/server-process.ts';
import { readBannerOnTerminal } from './support/terminal.ts';

const COMMAND_LINE = join(import.meta.dirname, '../../../cli/src/main.js');

/** An address that is not known to be a loopback one, though the system takes it for that: no test opens a port to others. */
const REACHABLE = '127.1';

/** The keys of a banner, each behind its plan. */
const keysOf = (banner: string) =>
  [...banner.matchAll(/# (\w+):.*\n\s+curl -H "Authorization: Bearer (\S+)"/g)].map(([, plan, key]) => [plan, key]);

/** For what is only a matter of time. */
const PATIENTLY = { timeout: 25_000 };

const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });

async function listOrderIds(url: string, key: string | undefined): Promise<number[]> {
  const response = await fetch(`${url}/v1/store/orders`, { headers: bearer(key) });
  expect(response.status).toBe(200);
  const orders = (await response.json()) as { id: number }[]; // the documented answer
  return orders.map(({ id }) => id);
}

/** Changes a key as an operator does. */
const administerKeys = (dataFolder: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [COMMAND_LINE, 'keys', ...args], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataFolder },
  });

test('a first start offers a key per plan, and orders and pets to look at', async () => {
  using folder = useDataFolder();
  await using server = new ServerUnderTest(folder.path);
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
});

test('whole demo keys are shown on a terminal, and told nowhere else but in their file', async () => {
  using folder = useDataFolder();
  await using server = new ServerUnderTest(folder.path, { LOG_FORMAT: 'pretty' });
  const keys = await server.demoKeys();
  expect(server.stdout).toContain(`  Demo keys ${join(folder.path, 'demo-keys.json')}\n`);
  for (const key of keys.values()) expect(server.stdout + server.stderr).not.toContain(key);
  await server.stop();
  expect(keysOf(await readBannerOnTerminal(folder.path))).toEqual([...keys]);
});

test('demo keys are revoked by a server that others can reach, and new ones are made where they cannot', async () => {
  using folder = useDataFolder();
  let keys: ReadonlyMap<string, string>;
  {
    await using first = new ServerUnderTest(folder.path);
    keys = await first.demoKeys();
  }
  {
    await using open = new ServerUnderTest(folder.path, { HOST: REACHABLE });
    const url = await open.url();
    expect(await open.demoKeys()).toEqual(new Map());
    for (const key of keys.values()) {
      expect((await fetch(`${url}/v1/store/orders`, { headers: bearer(key) })).status).toBe(401);
    }
    expect(open.stdout).toMatch(/"level":"warn".*the demo keys were revoked: others can reach HOST/);
    expect(open.stdout).not.toContain('Demo keys');
  }
  await using closed = new ServerUnderTest(folder.path);
  const url = await closed.url();
  const others = await closed.demoKeys();
  expect([...others.keys()]).toEqual([...keys.keys()]);
  for (const [plan, key] of others) {
    expect(key).not.toBe(keys.get(plan));
    expect(await listOrderIds(url, key)).toHaveLength(20);
  }
});

test('a first start that others can reach makes orders, and no demo keys', async () => {
  using folder = useDataFolder();
  await using open = new ServerUnderTest(folder.path, { HOST: REACHABLE });
  const url = await open.url();
  expect(await open.demoKeys()).toEqual(new Map());
  expect(open.stdout).not.toContain('revoked');
  const { stdout } = await administerKeys(folder.path, 'create', '--plan', 'free', '--json');
  const { key } = JSON.parse(stdout) as { key: string }; // as it is documented
  expect(await listOrderIds(url, key)).toHaveLength(20);
  const { stdout: list } = await administerKeys(folder.path, 'list', '--json');
  expect(JSON.parse(list)).toHaveLength(1);
});

test('data and demo keys are kept over a restart, and seeded only once', async () => {
  using folder = useDataFolder();
  let keys: ReadonlyMap<string, string>;
  {
    await using first = new ServerUnderTest(folder.path);
    keys = await first.demoKeys();
    const url = await first.url();
    const cancelled = await fetch(`${url}/v1/store/orders/1`, { method: 'DELETE', headers: bearer(keys.get('pro')) });
    expect(cancelled.status).toBe(204);
  }
  await using second = new ServerUnderTest(folder.path);
  expect(await second.demoKeys()).toEqual(keys);
  const url = await second.url();
  expect(await listOrderIds(url, keys.get('free'))).toHaveLength(20);
  const again = await fetch(`${url}/v1/store/orders/1`, { method: 'DELETE', headers: bearer(keys.get('pro')) });
  expect(await again.json()).toMatchObject({ code: 'order_already_cancelled' });
});

test('a start offers demo keys as they are by then: none that is revoked or replaced, each with its plan', async () => {
  using folder = useDataFolder();
  let keys: ReadonlyMap<string, string>;
  {
    await using first = new ServerUnderTest(folder.path);
    keys = await first.demoKeys();
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
  expect(banner).toContain('# enterprise: 1,234 a minute, 56,789 a day\n');
});

test('limits are kept over a restart', async () => {
  using folder = useDataFolder();
  const remaining = async (server: ServerUnderTest) => {
    const headers = bearer((await server.demoKeys()).get('free'));
    const { headers: answer } = await fetch(`${await server.url()}/v1/store/orders`, { headers });
    return Number(answer.get('x-ratelimit-remaining'));
  };
  {
    await using first = new ServerUnderTest(folder.path);
    for (let used = 1; used <= 10; used++) await remaining(first);
  }
  await using second = new ServerUnderTest(folder.path);
  // Not to the unit: Redis might not know of the last one, if it took more than 100 ms for it.
  expect(await remaining(second)).toBeLessThan(55);
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends the server with 0, soon, and leaves no process', async (signal) => {
  using folder = useDataFolder();
  await using server = new ServerUnderTest(folder.path);
  await server.url();
  const children = server.children();
  expect(children).toHaveLength(2);
  const { code, afterMs } = await server.stop(signal);
  expect(code, server.stderr).toBe(0);
  expect(afterMs).toBeLessThan(10_000);
  expect(children.filter(isRunning)).toEqual([]);
});

test('Ctrl-C in a terminal, twice, ends it with 0 too', async () => {
  using folder = useDataFolder();
  await using server = new ServerUnderTest(folder.path);
  await server.url();
  const children = server.children();
  const [postgres = Number.NaN] = children;
  process.kill(postgres, 'SIGSTOP'); // until the second signal the end cannot come
  process.kill(-server.pid, 'SIGINT'); // everybody in the process group, as a terminal does
  await server.said(/"msg":"stopping"/);
  process.kill(-server.pid, 'SIGINT');
  await sleep(20);
  process.kill(postgres, 'SIGCONT');
  expect(await server.exited, server.stderr).toMatchObject({ code: 0 });
  expect(children.filter(isRunning)).toEqual([]);
});

test('a signal in the middle of the first start ends it, and leaves no process', async () => {
  using folder = useDataFolder();
  await using server = new ServerUnderTest(folder.path);
  await server.adminUrl();
  expect(await server.stop('SIGINT'), server.stderr).toMatchObject({ code: 0 });
  expect(server.children()).toEqual([]);
});

test('after kill -9 no process is left, and the next start has all data', async () => {
  using folder = useDataFolder();
  await using first = new ServerUnderTest(folder.path);
  const keys = await first.demoKeys();
  const children = first.children();
  expect(children).toHaveLength(2);
  await first.stop('SIGKILL');
  await vi.waitFor(() => expect(children.filter(isRunning)).toEqual([]), PATIENTLY);
  await using second = new ServerUnderTest(folder.path);
  expect(await listOrderIds(await second.url(), keys.get('free'))).toHaveLength(20);
});

test('a database that dies under the server is started again', async () => {
  using folder = useDataFolder();
  await using server = new ServerUnderTest(folder.path);
  const keys = await server.demoKeys();
  const url = await server.url();
  const [postgres = Number.NaN, redis = Number.NaN] = server.children();
  process.kill(postgres, 'SIGKILL');
  process.kill(redis, 'SIGKILL');
  await server.said(/PostgreSQL had ended, and was started again/);
  await server.said(/Redis had ended, and was started again/);
  await vi.waitFor(async () => expect(await listOrderIds(url, keys.get('enterprise'))).toHaveLength(20), PATIENTLY);
  await vi.waitFor(async () => expect((await server.readiness()).report).toMatchObject({ limits: 'redis' }), PATIENTLY);
});

test('a second server on the same data folder is told so in one line', async () => {
  using folder = useDataFolder();
  await using first = new ServerUnderTest(folder.path);
  await first.url();
  await using second = new ServerUnderTest(folder.path);
  expect(await second.exited).toMatchObject({ code: 1 });
  expect(second.stderr).toBe(
    `petstore: Another server already runs on the data folder ${folder.path}. Stop it, or set DATA_DIR to another.\n`,
  );
  expect((await first.readiness()).status).toBe(200);
});
