import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { openPersistence } from '@petstore/persistence';
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { mergeMetrics } from '../../src/processes/merge-metrics.ts';
import { mergeReadiness } from '../../src/processes/merge-readiness.ts';
import { createKey } from './support/create-key.ts';
import { isRunning, ServerUnderTest, useDataFolder } from './support/server-process.ts';

/** For what is only a matter of time. */
const PATIENTLY = { timeout: 25_000 };
/** What takes Redis longer a process counts by itself, so that the sum is no longer exact. */
const REDIS_PATIENCE_MS = 100;

/** A server of two processes, with a database and a Redis of its own. */
class Pair implements AsyncDisposable {
  readonly server: ServerUnderTest;
  readonly database: TestDatabase;
  readonly key: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(stack: AsyncDisposableStack, database: TestDatabase, key: string, server: ServerUnderTest) {
    this.#stack = stack;
    this.database = database;
    this.key = key;
    this.server = server;
  }

  static async start(environment: Record<string, string> = {}): Promise<Pair> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(useDataFolder());
    const [database, redis]: [TestDatabase, TestRedis] = await Promise.all([createTestDatabase(), createTestRedis()]);
    stack.use(database);
    stack.use(redis);
    const { text } = await createKey(database.url);
    const shared = { DATABASE_URL: database.url, REDIS_URL: redis.url, PROCESSES: '2' };
    const server = stack.use(new ServerUnderTest(folder.path, { ...shared, ...environment }));
    return new Pair(stack.move(), database, text, server);
  }

  /** Lists the orders on a connection of its own. */
  async list(key = this.key): Promise<IncomingMessage> {
    const request = get(`${await this.server.url()}/v1/store/orders`, {
      agent: false,
      headers: { authorization: `Bearer ${key}` },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage]; // as documented
    return response;
  }

  /** Lists many times, four at once. @returns how often each status was answered, and how long the slowest answer took */
  async listOften(times: number, key = this.key): Promise<{ counts: Record<number, number>; slowestMs: number }> {
    await this.server.url();
    const counts: Record<number, number> = {};
    let slowestMs = 0;
    let left = times;
    const ask = async () => {
      while (left-- > 0) {
        const startMs = performance.now();
        const response = await this.list(key);
        response.resume();
        slowestMs = Math.max(slowestMs, performance.now() - startMs);
        const status = response.statusCode ?? 0;
        counts[status] = (counts[status] ?? 0) + 1;
      }
    };
    await Promise.all([ask(), ask(), ask(), ask()]);
    return { counts, slowestMs };
  }

  async metrics(): Promise<string> {
    return (await fetch(`${await this.server.adminUrl()}/metrics`)).text();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Holds back processes that start: none comes to serve before this is disposed of. */
async function holdStarts(database: TestDatabase): Promise<AsyncDisposable> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE schema_migrations');
  return { [Symbol.asyncDispose]: () => client.end() };
}

/** The processes that a process has started and that still run. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // it has just ended
  }
}

/** How many requests each process has answered. @param only those of one status */
const answeredBy = (metrics: string, only?: number): Map<string, number> => {
  const counts = metrics.matchAll(
    /^petstore_http_request_duration_seconds_count\{process="(\d+)",.*status="(\d+)"\} (\d+)$/gm,
  );
  const sums = new Map<string, number>();
  for (const [, process = '', status, count] of counts) {
    if (only === undefined || Number(status) === only) sums.set(process, (sums.get(process) ?? 0) + Number(count));
  }
  return sums;
};

/** As a scraper reads the text format: one description and one group of lines for each metric, each sample once. */
function expectExposition(text: string): void {
  expect(text.endsWith('\n')).toBe(true);
  const names: string[] = [];
  const samples = new Set<string>();
  for (const line of text.trimEnd().split('\n')) {
    const [, comment, name = ''] = /^# (HELP|TYPE) (\w+) .+$/.exec(line) ?? [];
    const family = names.at(-1) ?? '';
    if (comment === 'HELP') names.push(name);
    else if (comment === 'TYPE') expect(name).toBe(family);
    else {
      const [, series = ''] = /^(\w+(?:\{(?:\w+="[^"]*",?)+\})?) [\d.e+-]+$/.exec(line) ?? [];
      const [, stem = ''] = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{|$)/.exec(series) ?? [];
      expect(stem, line).toBe(family);
      expect(samples.has(series), line).toBe(false);
      samples.add(series);
    }
  }
  expect(new Set(names).size, 'each metric is described once').toBe(names.length);
  expect(samples.size).toBeGreaterThan(100);
}

test('two processes share a port, and a key has 60 requests a minute, whoever answers them', async () => {
  await using pair = await Pair.start();
  const { server } = pair;
  const isReady = async () =>
    expect(await server.readiness()).toEqual({
      status: 200,
      report: { status: 'ready', problems: [], postgres: 'up', limits: 'redis' },
    });
  await server.url();
  await vi.waitFor(isReady, PATIENTLY);
  let rounds = 0;
  for (let slowestMs = Number.POSITIVE_INFINITY; slowestMs >= REDIS_PATIENCE_MS; rounds++) {
    const { text } = await createKey(pair.database.url);
    const { counts, slowestMs: ownSlowestMs } = await pair.listOften(61, text);
    slowestMs = ownSlowestMs;
    if (slowestMs < REDIS_PATIENCE_MS) expect(counts).toEqual({ 200: 60, 429: 1 });
  }
  expect(childrenOf(server.pid)).toHaveLength(2);
  await vi.waitFor(isReady, PATIENTLY);
  const metrics = await pair.metrics();
  expectExposition(metrics);
  const counts = answeredBy(metrics);
  expect([...counts.keys()].toSorted()).toEqual(['1', '2']);
  expect([...counts.values()].reduce((a, b) => a + b)).toBe(rounds * 61);
  expect(metrics).toMatch(/^process_cpu_user_seconds_total\{process="2"\} /m);
  expect(metrics).toMatch(/^petstore_limits_mode\{process="1",mode="redis"\} 1$/m);
  expect(metrics).toMatch(/^petstore_processes_serving 2$/m);
  const children = childrenOf(server.pid);
  expect(await server.stop()).toMatchObject({ code: 0 });
  expect(children.filter(isRunning)).toEqual([]);
  expect(server.stdout.match(/listening on/g)).toHaveLength(1);
  expect(server.stderr).toBe('');
});

test('while Redis is away each counts its share of the limit', async () => {
  await using pair = await Pair.start({ REDIS_URL: 'redis://127.0.0.1:1' });
  let admitted = 0;
  // Until both have had to refuse: who gets how many is not for us to say.
  while ([...answeredBy(await pair.metrics(), 429).keys()].length < 2) {
    const { counts } = await pair.listOften(20);
    admitted += counts[200] ?? 0;
  }
  expect(admitted).toBe(60);
  expect((await pair.server.readiness()).report).toMatchObject({ status: 'ready', limits: 'degraded' });
});

test('a process that dies is replaced, while the other answers', async () => {
  await using pair = await Pair.start();
  const { server } = pair;
  const url = await server.url();
  const before = childrenOf(server.pid);
  expect(before).toHaveLength(2);
  const ask = () => fetch(url, { redirect: 'manual', headers: { connection: 'close' } }).then(({ status }) => status);
  // Whatever is handed to a process that cannot take it must not wait for ever.
  process.kill(before[0] ?? Number.NaN, 'SIGSTOP');
  const asked = Promise.allSettled([ask(), ask(), ask(), ask()]);
  await vi.waitUntil(async () => (await ask()) === 302, PATIENTLY);
  process.kill(before[0] ?? Number.NaN, 'SIGKILL');
  expect((await asked).map((one) => (one.status === 'fulfilled' ? one.value : 'closed')).toSorted()).toEqual([
    302,
    302,
    302,
    'closed',
  ]);
  const isWhole = () => pair.metrics().then((text) => text.includes('petstore_processes_serving 2\n'));
  let isReplaced = false;
  const statuses = new Set<number>();
  const asking = async () => {
    while (!isReplaced) statuses.add(await ask()).add((await server.readiness()).status);
  };
  await Promise.all([asking(), vi.waitUntil(isWhole, PATIENTLY).then(() => (isReplaced = true))]);
  expect([...statuses].toSorted()).toEqual([200, 302]);
  const after = childrenOf(server.pid);
  expect(after).toHaveLength(2);
  expect(after).not.toEqual(before);
  expect(await pair.metrics()).toMatch(/^petstore_process_replacements_total 1$/m);
  expect(server.stdout).toMatch(/"level":"error".*"process":\d,"reason":"SIGKILL","msg":"a server process has ended/);

  // And when all die, those that come next have the port that callers know.
  {
    await using _held = await holdStarts(pair.database);
    for (const pid of after) process.kill(pid, 'SIGKILL');
    await vi.waitUntil(async () => (await server.readiness()).status === 503, PATIENTLY);
  }
  await vi.waitUntil(isWhole, PATIENTLY);
  const isReady = async () => expect(await server.readiness()).toMatchObject({ status: 200, report: { problems: [] } });
  await vi.waitFor(isReady, PATIENTLY);
  expect((await pair.list()).statusCode).toBe(200);
  expect(server.stdout.match(/listening on/g)).toHaveLength(1);
});

test('a process that does not answer makes the server not ready, and does not keep it from ending', async () => {
  await using pair = await Pair.start();
  const { server } = pair;
  await server.url();
  const children = childrenOf(server.pid);
  const second = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('process-2'));
  process.kill(second ?? Number.NaN, 'SIGSTOP');
  const [{ status, report }, metrics] = await Promise.all([server.readiness(), pair.metrics()]);
  expect(status).toBe(503);
  expect(report['problems']).toEqual(['process 2 does not answer']);
  expect(metrics).toContain('process_cpu_user_seconds_total{process="1"}');
  expect(metrics).not.toContain('process="2"');
  const { code, afterMs } = await server.stop();
  expect(code).toBe(1);
  expect(server.stderr).toBe('petstore: 1 of 2 processes did not stop, and were killed.\n');
  expect(afterMs).toBeLessThan(20_000);
  expect(children.filter(isRunning)).toEqual([]);
});

test('kill -9 of the first process leaves none behind', async () => {
  await using pair = await Pair.start();
  const { server } = pair;
  await server.url();
  const children = childrenOf(server.pid);
  expect(children).toHaveLength(2);
  await server.stop('SIGKILL');
  await vi.waitUntil(() => !children.some(isRunning), PATIENTLY);
});

describe('a stop', () => {
  test('in the middle of a long list, by Ctrl-C twice, lets it come to its end', async () => {
    await using pair = await Pair.start();
    const { server } = pair;
    const count = 100_000;
    {
      await using persistence = openPersistence({ databaseUrl: pair.database.url });
      await persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
    }
    await server.url();
    const children = childrenOf(server.pid);
    const lists = await Promise.all([pair.list(), pair.list()]);
    process.kill(-server.pid, 'SIGINT'); // everybody in the process group, as a terminal does
    await vi.waitUntil(async () => (await server.readiness()).status === 503, { ...PATIENTLY, interval: 5 });
    process.kill(-server.pid, 'SIGINT');
    expect((await server.readiness()).report['problems']).toEqual(['the server is stopping']);
    for (const list of lists) expect(JSON.parse(await readText(list))).toHaveLength(count);
    expect(await server.exited, server.stderr).toMatchObject({ code: 0 });
    expect(children.filter(isRunning)).toEqual([]);
    expect(server.stdout).not.toContain('it is replaced');
  });

  test('in the middle of the start ends it with 0, and leaves no process', async () => {
    await using database = await createTestDatabase();
    await createKey(database.url);
    await using held = new AsyncDisposableStack();
    held.use(await holdStarts(database));
    await using pair = await Pair.start({ DATABASE_URL: database.url });
    const { server } = pair;
    await server.adminUrl();
    const children = childrenOf(server.pid);
    server.process.kill('SIGINT');
    await server.said(/"msg":"stopping"/);
    await held.disposeAsync();
    expect(await server.exited, server.stderr).toMatchObject({ code: 0 });
    expect(children.filter(isRunning)).toEqual([]);
    expect(server.stdout).not.toContain('listening on');
  });
});

describe('a start that cannot succeed is told of once', () => {
  const expectRefusal = async (server: ServerUnderTest, line: RegExp) => {
    expect(await server.exited).toMatchObject({ code: 1 });
    expect(server.stderr).toMatch(line);
    expect(server.stderr.trim().split('\n')).toHaveLength(1);
    expect(server.stdout).not.toContain('listening on');
  };

  test('where the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo; // a TCP listener
    await using pair = await Pair.start({ PORT: String(port), ADMIN_PORT: '0' });
    await expectRefusal(pair.server, new RegExp(`^petstore: Port ${port} of 127.0.0.1 is in use\\. .*set PORT`));
    other.close();
  });

  test('where the database is of a newer version', async () => {
    await using database = await createTestDatabase();
    await createKey(database.url);
    await using client = Object.assign(new pg.Client({ connectionString: database.url }), {
      [Symbol.asyncDispose]: () => client.end(),
    });
    await client.connect();
    await client.query(`INSERT INTO schema_migrations (name) VALUES ('9999-from-the-future')`);
    await using pair = await Pair.start({ DATABASE_URL: database.url });
    await expectRefusal(pair.server, /^petstore: .*newer version.*9999-from-the-future/);
  });

  test('where there is nothing to share', async () => {
    using folder = useDataFolder();
    await using server = new ServerUnderTest(folder.path, { PROCESSES: '2', MIGRATE: 'maybe' });
    expect(await server.exited).toMatchObject({ code: 2 });
    expect(server.stderr.trim().split('\n')).toEqual([
      'These settings are wrong:',
      expect.stringMatching(/^ {2}MIGRATE is "maybe"/),
      expect.stringMatching(/^ {2}PROCESSES is "2", but DATABASE_URL and REDIS_URL are not set/),
    ]);
    expect(server.stdout).toBe('');
  });
});

test('the readiness of several is that of the worst, each problem named once', () => {
  const ready = { status: 'ready', problems: [], postgres: 'up', limits: 'redis' } as const;
  const degraded = { ...ready, problems: ['Redis is away'], limits: 'degraded' } as const;
  const down = { status: 'not ready', problems: ['PostgreSQL is away'], postgres: 'down', limits: 'redis' } as const;
  expect(mergeReadiness([ready, ready])).toEqual(ready);
  expect(mergeReadiness([degraded, ready, degraded])).toEqual(degraded);
  expect(mergeReadiness([ready, down, degraded])).toEqual({
    status: 'not ready',
    problems: ['PostgreSQL is away', 'Redis is away'],
    postgres: 'down',
    limits: 'degraded',
  });
});

test('metrics of several keep every sample apart by its process, and describe each metric once', () => {
  const text = (value: number) =>
    `# HELP a What.\n# TYPE a gauge\na ${value}\n\n# HELP b x\n# TYPE b counter\nb{c="{ }"} 1\n`;
  const late = '# HELP d New.\n# TYPE d gauge\nd 1\n# HELP a What.\n# TYPE a gauge\na 3\n';
  const merged = mergeMetrics([
    [1, text(1)],
    [2, text(2)],
    [3, late],
  ]);
  expect(merged.split('\n')).toEqual([
    '# HELP a What.',
    '# TYPE a gauge',
    'a{process="1"} 1',
    'a{process="2"} 2',
    'a{process="3"} 3',
    '# HELP b x',
    '# TYPE b counter',
    'b{process="1",c="{ }"} 1',
    'b{process="2",c="{ }"} 1',
    '# HELP d New.',
    '# TYPE d gauge',
    'd{process="3"} 1',
    '',
  ]);
});
