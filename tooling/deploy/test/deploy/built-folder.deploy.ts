import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { createPetstoreClient } from '@petstore/client';
import { createTemporaryFolder, createTestDatabase, createTestRedis, startHttpServer } from '@petstore/testing';
import { expect, test } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';
import { useBuiltFolder } from '../support/built-folder.ts';
import { Program } from '../support/program.ts';

const built = useBuiltFolder();

/** Runs the built command line. @returns its standard output */
const petstore = (environment: Record<string, string>, ...args: readonly string[]): string =>
  execFileSync(process.execPath, [built('petstore.js'), ...args], {
    env: environment,
    cwd: '/',
    encoding: 'utf8',
  });

/** What leads to another file, by the type of a file. */
const LINK_OF: Readonly<Record<string, RegExp>> = {
  'text/html; charset=utf-8': /(?:href|src)="([^"#?]+)/g,
  'text/javascript; charset=utf-8': /\bload\('([^']+)'\)/g, // of the search, when it is used first
};

/** The status of each path below /docs that pages lead to, from one on. */
async function crawl(
  url: string,
  path: string,
  found = new Map<string, number>(),
): Promise<ReadonlyMap<string, number>> {
  if (found.has(path)) return found;
  const response = await fetch(url + path);
  found.set(path, response.status);
  const text = await response.text();
  const [, base = ''] = /<base href="([^"]*)"/.exec(text) ?? [];
  for (const [, target = ''] of text.matchAll(LINK_OF[response.headers.get('content-type') ?? ''] ?? /(?!)/g)) {
    const to = new URL(target, new URL(base, url + path));
    if (to.origin === url && to.pathname.startsWith('/docs')) await crawl(url, to.pathname, found);
  }
  return found;
}

/** Receives what is exported by OTLP. */
async function receiveSpans() {
  let received = '';
  const receiver = await startHttpServer(async (request, response) => {
    received += Buffer.concat(await request.toArray()).toString();
    response.end();
  });
  return {
    url: receiver.origin,
    received: () => received,
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

test('serves with Node alone, and ends with 0 at SIGTERM', async () => {
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  await using spans = await receiveSpans();
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  await using running = new Program([process.execPath, built('server.js')], {
    ...environment,
    PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: spans.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  const { publicUrl, adminUrl } = await running.urls();
  const created = petstore(environment, 'keys', 'create', '--plan', 'business', '--internal', '--json');
  const { key } = JSON.parse(created);
  expect(petstore(environment, 'orders', 'generate', '--count', '5000', '--json')).toBe('{"inserted":5000}\n');

  const listed = await fetch(`${publicUrl}/v1/store/orders`, { headers: { authorization: `Bearer ${key}` } });
  expect(await listed.json()).toHaveLength(5000);
  expect(listed.headers.get('x-ratelimit-limit')).toBe('1000');
  const client = createPetstoreClient({ baseUrl: publicUrl, apiKey: key });
  const { id } = await client.orders.place.mutate({ petId: 1n, quantity: 1 });
  expect(await client.rest.v2.getOrder({ orderId: id })).toMatchObject({ id, status: 'pending' });
  await client.rest.cancelOrder({ orderId: id });
  let count = 0;
  for await (const batch of await client.orders.list.query()) count += batch.length;
  expect(count).toBe(5001);
  expect(JSON.parse(petstore(environment, 'audit', '--order', `${id}`, '--json'))).toMatchObject([
    { action: 'order.cancelled' },
    { action: 'order.placed' },
  ]);
  expect(await (await fetch(`${publicUrl}/v1/openapi.yaml`)).text()).toMatch(/^openapi: 3\.1/);
  expect(await (await fetch(`${adminUrl}/readyz`)).json()).toMatchObject({ status: 'ready', limits: 'redis' });
  expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain('\npetstore_postgres_up 1\n');
  expect(petstore(environment, 'migrate', '--status')).toMatch(/^(applied {2}\S+\n)+$/);
  expect(JSON.parse(petstore(environment, 'orders', 'list', '--json'))).toHaveLength(5001);

  expect(await running.stop()).toEqual({ code: 0, signal: null });
  expect(running.stderr).toBe('');
  // Of the request, and below it of PostgreSQL and Redis, which are parts of the bundle.
  for (const name of ['GET /v1/store/orders', 'pg.query:list-order-texts', 'evalsha']) {
    expect(spans.received()).toContain(`"name":"${name}`);
  }
});

test('has every page and file of the reference', async () => {
  await using database = await createTestDatabase();
  const environment = { DATABASE_URL: database.url, PORT: '0', LOG_FORMAT: 'pretty' };
  await using running = new Program([process.execPath, built('server.js')], environment);
  const [, publicUrl = ''] = await running.said(/^listening on (\S+)\n/m);
  const found = await crawl(publicUrl, '/docs');
  expect([...found].filter(([, status]) => status !== 200)).toEqual([]);
  expect([...found.keys()]).toEqual(
    expect.arrayContaining([
      '/docs/errors/order_already_shipped',
      '/docs/limits',
      expect.stringMatching(/\/minisearch\.js$/),
    ]),
  );
});

/** The first of those that packages/runtime admits (require-node.js). */
const OLDEST_NODE = '24.16.0';

test('serves on the oldest Node that it admits', async () => {
  using folder = createTemporaryFolder();
  execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', `node@${OLDEST_NODE}`], { cwd: folder.path });
  const node = join(folder.path, 'node_modules/.bin/node');
  expect(execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()).toBe(`v${OLDEST_NODE}`);
  await using database = await createTestDatabase();
  const environment = { DATABASE_URL: database.url, PORT: '0' };
  const key = JSON.parse(
    execFileSync(node, [built('petstore.js'), 'keys', 'create', '--plan', 'pro', '--json'], {
      env: environment,
      cwd: '/',
      encoding: 'utf8',
    }),
  ).key;
  await using running = new Program([node, built('server.js')], environment);
  const [, url = ''] = await running.said(/listening on (http:\/\/[^"\s]+)/);
  const response = await fetch(`${url}/v1/store/orders`, { headers: { authorization: `Bearer ${key}` } });
  expect([response.status, await response.json()]).toEqual([200, []]);
  const absent = await fetch(`${url}/v2/store/orders/404`, { headers: { authorization: `Bearer ${key}` } });
  expect(await absent.json()).toMatchObject({ code: 'order_not_found' });
  running.process.kill('SIGTERM');
  expect(await running.exited).toEqual({ code: 0, signal: null });
});

test.each(['server.js', 'petstore.js'])(
  '%s says in one line that it needs a database, and a Node that is new',
  (file) => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [...args, built(file), 'keys', 'list'], {
        env: {},
        cwd: '/',
        encoding: 'utf8',
      });
    const withoutDatabase = run();
    expect([withoutDatabase.status, withoutDatabase.stdout]).toEqual([2, '']);
    expect(withoutDatabase.stderr).toMatch(
      /^(petstore: )?Invalid settings:\n {2}DATABASE_URL is not set, and there is no embedded database in production; set DATABASE_URL\n$/,
    );
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
    const onOlderNode = run('--import', `data:text/javascript,${encodeURIComponent(older)}`);
    expect([onOlderNode.status, onOlderNode.stdout]).toEqual([1, '']);
    expect(onOlderNode.stderr).toBe(
      'petstore: This is Node 20.20.2, and Node 24.16 or newer (not 25, not 26.0) is required.\n',
    );
  },
);

test('stack traces can name the lines that were written', () => {
  const source = 'apps/server/src/compose.ts';
  const lineOf = (text: string) => text.split('\n').findIndex((line) => line.includes('async function startServer('));
  const [chunk = ''] = globSync(built('chunks/compose-*.js'));
  const map = new SourceMap(JSON.parse(readFileSync(`${chunk}.map`, 'utf8')));
  const origin = map.findOrigin(lineOf(readFileSync(chunk, 'utf8')) + 1, 1);
  expect(origin).toMatchObject({
    fileName: `../${source}`,
    lineNumber: lineOf(readFileSync(join(ROOT, source), 'utf8')) + 1,
  });
});

test('comes with its licences, and takes less than 10 MB', () => {
  const notices = readFileSync(built('THIRD-PARTY-NOTICES.txt'), 'utf8');
  const named = [...notices.matchAll(/^={80}\n(\S+) \S+: (\S+)$/gm)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining(['pg', 'zod', '@trpc/server', 'minisearch']));
  expect(notices).not.toContain('undefined');
  expect(readFileSync(built('LICENSE'), 'utf8')).toMatch(/^MIT License/);
  const bytes = globSync(built('**')).reduce((sum, file) => sum + statSync(file).size, 0);
  expect(bytes).toBeLessThan(10_000_000);
});
