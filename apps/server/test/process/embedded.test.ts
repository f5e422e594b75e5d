import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiKeyId, generateApiKeyText, hashApiKeyText, PLAN_NAMES } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { findEmbeddedPostgres } from '@petstore/runtime';
import { endWithTestRun, findExecutable, PATIENCE_MS } from '@petstore/testing';
import { REDIS_STARTER, UNPACKED_REDIS_FOLDER } from '@petstore/testing/find-executable';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../support/database.ts';
import {
  bearer,
  isRunning,
  listOrderIds,
  MAIN,
  readDemoKeys,
  SpawnedServer,
  useDataFolder,
  useStartedDataFolder,
} from '../support/spawned-server.ts';

/** An address that the server does not know to be a loopback one, though the system does: no test opens a port to others. */
const REACHABLE = '127.1';

/** The plans and keys of a banner. */
const keysOf = (banner: string) =>
  [...banner.matchAll(/^(?: {2}Demo keys| {11}) ([\w-]+) +(pso_demo_\w+)$/gm)].map(([, plan, key]) => [plan, key]);

interface TerminalServer extends AsyncDisposable {
  /** The public listener's URL. */
  readonly url: string;
  /** What the terminal showed until requests were served. */
  readonly banner: string;
}

/** Starts the server on a terminal, which script(1) makes, and waits until it serves. */
async function startOnTerminal(dataFolder: string): Promise<TerminalServer> {
  // `exec`, so that the id of the shell, which is printed first, is the server's.
  const command = `echo "pid $$"; exec '${process.execPath}' '${MAIN}'`;
  const linux = ['-q', '-e', '-c', command, '/dev/null'];
  const program = findExecutable('script');
  if (program === undefined) throw new Error('the tests need script(1), which Debian, Ubuntu and macOS have');
  const script = spawn(program, process.platform === 'linux' ? linux : ['-q', '/dev/null', 'sh', '-c', command], {
    env: { PATH: '', SHELL: '/bin/sh', PORT: '0', DATA_DIR: dataFolder },
    stdio: ['pipe', 'pipe', 'inherit'], // a terminal's input does not end
  });
  const closed = once(script, 'close');
  let shown = '';
  let pid: number | undefined;
  let url: string | undefined;
  for await (const text of script.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    shown += text;
    if (pid === undefined) {
      const [, first] = /^pid (\d+)\r\n/.exec(shown) ?? [];
      if (first === undefined) continue;
      pid = Number(first);
      void closed.then(endWithTestRun(pid));
    }
    [, url] = /listening on (http\S+)\r\n/.exec(shown) ?? [];
    if (url !== undefined) break;
  }
  if (pid === undefined || url === undefined) throw new Error(`the server ended on its terminal:\n${shown}`);
  const serverPid = pid;
  script.stdout.resume();
  return {
    url,
    banner: shown.replaceAll('\r\n', '\n'),
    async [Symbol.asyncDispose]() {
      if (isRunning(serverPid)) process.kill(serverPid, 'SIGTERM');
      await closed;
    },
  };
}

/** Works on the database of a server that runs, as an operator does. */
async function administer(dataFolder: string, work: (persistence: Persistence) => Promise<void>): Promise<void> {
  const databaseUrl = await findEmbeddedPostgres(dataFolder);
  await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
  await work(persistence);
}

// The tests go through the starts of one data folder, in order.
describe('a data folder', () => {
  const folder = useDataFolder();
  const resources = new AsyncDisposableStack();
  resources.defer(() => folder[Symbol.dispose]());
  let first: SpawnedServer;
  let keys: ReadonlyMap<string, string>;
  beforeAll(async () => {
    first = resources.use(new SpawnedServer(folder.path));
    keys = await first.demoKeys();
  });
  afterAll(() => resources.disposeAsync());

  test('has a key per plan after its first start, and orders and pets to look at', async () => {
    const url = await first.url();
    expect([...keys.keys()]).toEqual([...PLAN_NAMES, 'read-only']);
    for (const key of keys.values()) expect(await listOrderIds(url, key)).toHaveLength(20);
    const pet = await fetch(`${url}/v1/pets/1`, { headers: bearer(keys.get('free')) });
    expect(await pet.json()).toEqual({ id: 1, name: 'Bella' });
    expect(first.stdout).toContain(`  REST      ${url}/v1\n`);
    expect(first.stdout).toContain(`  tRPC      ${url}/trpc\n`);
    expect(first.stdout).toContain(`  Health    ${await first.adminUrl()}/readyz`);
    // The tests unpack a Redis on a machine that has none.
    const limits = existsSync(join(UNPACKED_REDIS_FOLDER, REDIS_STARTER))
      ? "this machine's Redis, .*"
      : 'in memory, .*';
    expect(first.stdout).toMatch(new RegExp(`^ {2}Limits {4}${limits}$`, 'm'));
    expect(statSync(join(folder.path, 'demo-keys.json')).mode & 0o777).toBe(0o600);
    for (const key of keys.values()) expect(first.stdout + first.stderr).not.toContain(key);
  });

  describe('after a restart, on a terminal', () => {
    let second: TerminalServer;
    const cancelFirst = (url: string) =>
      fetch(`${url}/v1/store/orders/1`, { method: 'DELETE', headers: bearer(keys.get('pro')) });
    beforeAll(async () => {
      const url = await first.url();
      const readOnly = { method: 'DELETE', headers: bearer(keys.get('read-only')) };
      expect((await fetch(`${url}/v1/store/orders/1`, readOnly)).status).toBe(403);
      expect((await cancelFirst(url)).status).toBe(204);
      await first.stop();
      second = resources.use(await startOnTerminal(folder.path));
    });

    test('has the same data and demo keys, and is not seeded again', async () => {
      expect(readDemoKeys(folder.path)).toEqual(keys);
      expect(await listOrderIds(second.url, keys.get('free'))).toHaveLength(20);
      expect(await (await cancelFirst(second.url)).json()).toMatchObject({ code: 'order_already_cancelled' });
    });

    test('has its whole demo keys shown, and a call to copy, in so few lines that nothing scrolls away', () => {
      const { banner } = second;
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

    test('has demo keys shown as they are by the next start: none that is revoked or replaced, each with its plan', async () => {
      await administer(folder.path, async ({ keyAdministration }) => {
        const idOf = (plan: string) => keys.get(plan)?.split('_')[2] as ApiKeyId; // as documented
        const now = new Date();
        const rotate = (id: ApiKeyId, overlapEndsAt: Date) => {
          const secretHash = hashApiKeyText(generateApiKeyText('live', id, randomBytes));
          return keyAdministration.rotateKey(id, { secretHash, now, overlapEndsAt });
        };
        const limits = { perMinute: 1_234, perDay: 56_789 };
        await keyAdministration.setPlan(idOf('free'), { name: 'enterprise', limits }, now);
        await rotate(idOf('pro'), now);
        await rotate(idOf('business'), new Date(now.getTime() + 3_600_000));
        await keyAdministration.revokeKey(idOf('enterprise'), now);
      });
      await second[Symbol.asyncDispose]();
      await using third = await startOnTerminal(folder.path);
      const left = [...keys].filter(([name]) => name !== 'pro' && name !== 'enterprise');
      expect(keysOf(third.banner)).toEqual(left.map(([name, key]) => [name === 'free' ? 'enterprise' : name, key]));
    });
  });
});

const copyStarted = useStartedDataFolder();

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
    expect(open.stdout).toMatch(/"level":"warn".*the demo keys were revoked: HOST is reachable from other machines/);
    expect(open.stdout).not.toContain('Demo keys');
  }
  await using closed = new SpawnedServer(folder.path, { LOG_FORMAT: 'pretty' });
  const url = await closed.url();
  const others = await closed.demoKeys();
  expect([...others.keys()]).toEqual([...keys.keys()]);
  for (const [plan, key] of others) {
    expect(key).not.toBe(keys.get(plan));
    expect(await listOrderIds(url, key)).toHaveLength(20);
  }
  // Elsewhere than on a terminal only the path of their file is shown, even to people.
  expect(closed.stdout).toContain(`  Demo keys ${join(folder.path, 'demo-keys.json')}\n`);
  for (const key of others.values()) expect(closed.stdout + closed.stderr).not.toContain(key);
});

test('a first start that others can reach creates orders, and no demo keys', async () => {
  using folder = useDataFolder();
  await using open = new SpawnedServer(folder.path, { HOST: REACHABLE, LOG_FORMAT: 'json' });
  const url = await open.url();
  expect(await open.demoKeys()).toEqual(new Map());
  expect(open.stdout).not.toContain('revoked');
  await administer(folder.path, async (persistence) => {
    const { text } = await createKey(persistence, { plan: { name: 'free' } });
    expect(await listOrderIds(url, text)).toHaveLength(20);
    expect(await persistence.keyAdministration.listKeys()).toHaveLength(1);
  });
  await open.stop();
  // A first start has more to say than others, and says it as JSON, too.
  for (const line of `${open.stdout}${open.stderr}`.trim().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object');
});
