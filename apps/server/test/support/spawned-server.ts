import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { createTemporaryFolder, createTestRedis, endWithTestRun } from '@petstore/testing';
import { beforeAll, expect } from 'vitest';
import { createServerDatabase } from './database.ts';

export const MAIN = join(import.meta.dirname, '../../src/main.js');

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly afterMs: number;
}

/** A server in a process of its own, as the start command runs it. */
export class SpawnedServer implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly startedAtMs = performance.now();
  readonly exited: Promise<Exit>;
  readonly #dataFolder: string;
  /** Emits `text` when something has been written. */
  readonly #output = new EventEmitter();
  stdout = '';
  stderr = '';

  /**
   * @param environment replaces all of the test's own: without PATH, only a Redis that the tests unpacked is run. Ports are free ones
   *   unless it names them, and no operation is sunset whenever the tests run
   * @param main the file to run. @default the server of this tree
   */
  constructor(dataFolder: string, environment: Record<string, string> = {}, main = MAIN) {
    this.#dataFolder = dataFolder;
    // In a process group of its own, as a shell starts it, so that Ctrl-C can be sent to the group.
    this.process = spawn(process.execPath, [main], {
      env: { PORT: '0', DATA_DIR: dataFolder, PETS_SUNSET_AT: '2999-12-31', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#output.emit('text');
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    const unregister = endWithTestRun(this.pid);
    // 'close', not 'exit': by then all output has been received.
    this.exited = once(this.process, 'close').then(([code, signal]) => {
      unregister();
      return { code, signal, afterMs: performance.now() - this.startedAtMs };
    });
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('the server was not started');
    return this.process.pid;
  }

  /** Waits until the output holds something. */
  async said(pattern: RegExp, timeoutMs = 50_000): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(timeoutMs);
    for (let hasEnded = false; ; ) {
      const match = pattern.exec(this.stdout);
      if (match !== null) return match;
      if (hasEnded || signal.aborted) {
        const state = hasEnded ? `ended with ${JSON.stringify(await this.exited)}` : 'still running';
        throw new Error(`the server did not say ${pattern} (${state}):\n${this.stdout}\n${this.stderr}`);
      }
      const output = once(this.#output, 'text', { signal }).catch(() => {}); // the time is over
      hasEnded = await Promise.race([output.then(() => false), this.exited.then(() => true)]);
    }
  }

  /** The public listener's URL, once the server is ready. */
  async url(): Promise<string> {
    return (await this.said(/listening on (http:\/\/[^\s"]+)[\s"]/))[1] ?? '';
  }

  /** The URL of the admin listener, which is available from the start. */
  async adminUrl(): Promise<string> {
    return (await this.said(/(http:\/\/[^\s"]+)\/readyz/))[1] ?? '';
  }

  /** The demo keys as they were created, by plan. */
  async demoKeys(): Promise<ReadonlyMap<string, string>> {
    await this.url();
    return readDemoKeys(this.#dataFolder);
  }

  async readiness(): Promise<{ status: number; report: Record<string, unknown> }> {
    const response = await fetch(`${await this.adminUrl()}/readyz`);
    return { status: response.status, report: (await response.json()) as Record<string, unknown> }; // for assertions
  }

  /** What /metrics holds: the value of each series, by its name and labels. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`${await this.adminUrl()}/metrics`)).text();
    return new Map([...text.matchAll(/^([a-z]\S*) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]));
  }

  /** The lines of the JSON log with this message. */
  logLines(message: string): Record<string, unknown>[] {
    const lines = this.stdout.split('\n').filter((line) => line.includes(JSON.stringify(message)));
    return lines.map((line): Record<string, unknown> => JSON.parse(line)).filter(({ msg }) => msg === message);
  }

  /** Sends a signal to the server alone, and waits for its end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    const sentAtMs = performance.now();
    this.process.kill(signal);
    const { code, signal: endedBy } = await this.exited;
    return { code, signal: endedBy, afterMs: performance.now() - sentAtMs };
  }

  /** The embedded servers that run on the data folder: PostgreSQL, and Redis if this machine has one. */
  children(): number[] {
    const [postgres] = this.#readData('postgres/postmaster.pid').split('\n');
    const [redis] = [...this.#readData('redis.log').matchAll(/, pid=(\d+), just started/g)].slice(-1);
    return [postgres, redis?.[1]].map(Number).filter((pid) => pid > 0 && isRunning(pid));
  }

  #readData(file: string): string {
    const path = join(this.#dataFolder, file);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.stop('SIGTERM');
    // Leftovers of a failed test.
    for (const pid of this.children()) process.kill(pid, 'SIGKILL');
  }
}

/** The demo keys of a data folder as they were created, by plan; the read-only one as `read-only`. */
export function readDemoKeys(dataFolder: string): ReadonlyMap<string, string> {
  const file = readFileSync(join(dataFolder, 'demo-keys.json'), 'utf8');
  const keys = JSON.parse(file) as { plan: string; readOnly: boolean; text: string }[]; // as documented
  return new Map(keys.map(({ plan, readOnly, text }) => [readOnly ? 'read-only' : plan, text]));
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** A path for a data folder, which does not exist yet. */
export function useDataFolder(): Disposable & { readonly path: string } {
  const folder = createTemporaryFolder();
  return { path: join(folder.path, 'data'), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

export interface StartedServer extends AsyncDisposable {
  readonly server: SpawnedServer;
  readonly databaseUrl: string;
}

/**
 * A server in a process of its own, on a database and a Redis of its own. The database has {@link KEYS}.
 *
 * @param environment settings; DATABASE_URL and REDIS_URL replace the server's own
 */
export async function startServer(environment: Record<string, string> = {}): Promise<StartedServer> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.adopt(useDataFolder(), (used) => used[Symbol.dispose]());
  const databaseUrl = environment['DATABASE_URL'] ?? resources.use(await createServerDatabase()).url;
  const redisUrl = environment['REDIS_URL'] ?? resources.use(await createTestRedis()).url;
  const settings = { ...environment, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const server = resources.use(new SpawnedServer(folder.path, settings));
  const owned = resources.move();
  return { server, databaseUrl, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The data folder of a first start. Made once for all files of this process, and removed when the test run ends. */
let started: Promise<string> | undefined;

async function startOnce(): Promise<string> {
  const { path } = useDataFolder();
  try {
    await using server = new SpawnedServer(path);
    await server.url();
    return path;
  } catch (error) {
    started = undefined; // the next file tries anew
    throw error;
  }
}

/**
 * Prepares a data folder whose server has been started and stopped, so that only tests of the first start have to wait for one.
 *
 * @returns a function that copies it
 */
export function useStartedDataFolder(): () => ReturnType<typeof useDataFolder> {
  let original: string;
  beforeAll(async () => {
    started ??= startOnce();
    original = await started;
  });
  return () => {
    const copy = useDataFolder();
    execFileSync('cp', ['-a', original, copy.path]); // -a, because the files of PostgreSQL may belong to another user
    return copy;
  };
}

/** Begins a request whose body never comes. @returns it, once its head is on the way */
export async function beginUnfinished(url: string, key: string): Promise<ClientRequest> {
  const unfinished = request(`${url}/trpc/orders.cancel`, {
    method: 'POST',
    agent: false,
    headers: { ...bearer(key), 'content-type': 'application/json', 'content-length': 10 },
  });
  unfinished.flushHeaders();
  const [socket] = await once(unfinished, 'socket');
  await once(socket, 'connect');
  return unfinished;
}

export const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });

export async function listOrderIds(url: string, key: string | undefined): Promise<number[]> {
  const response = await fetch(`${url}/v1/store/orders`, { headers: bearer(key) });
  expect(response.status).toBe(200);
  const orders = (await response.json()) as { id: number }[]; // the documented response
  return orders.map(({ id }) => id);
}
