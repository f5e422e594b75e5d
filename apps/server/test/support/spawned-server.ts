import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { createTemporaryFolder, endWithTestRun } from '@petstore/testing';
import { beforeAll, expect } from 'vitest';
import { ObservedServer, TEST_SETTINGS, withStores } from './observed-server.ts';

export const MAIN = join(import.meta.dirname, '../../src/main.js');

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly afterMs: number;
}

/** A server in a process of its own, as the start command runs it. */
export class SpawnedServer extends ObservedServer implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly startedAtMs = performance.now();
  readonly exited: Promise<Exit>;
  readonly #dataFolder: string;

  /**
   * @param environment replaces all of the test's own, and {@link TEST_SETTINGS}: without PATH, only a Redis that the tests
   *   unpacked is run
   * @param main the file to run. @default the server of this tree
   */
  constructor(dataFolder: string, environment: Record<string, string> = {}, main = MAIN) {
    super();
    this.#dataFolder = dataFolder;
    // In a process group of its own, as a shell starts it, so that Ctrl-C can be sent to the group.
    this.process = spawn(process.execPath, [main], {
      env: { ...TEST_SETTINGS, DATA_DIR: dataFolder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => this.receive(text));
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

  /** The demo keys as they were created, by plan. */
  async demoKeys(): Promise<ReadonlyMap<string, string>> {
    await this.url();
    return readDemoKeys(this.#dataFolder);
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
  const settings = await withStores(environment, resources);
  const server = resources.use(new SpawnedServer(folder.path, settings));
  const owned = resources.move();
  return { server, databaseUrl: settings.DATABASE_URL, [Symbol.asyncDispose]: () => owned.disposeAsync() };
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

/** Settings that make a server write the URL of each module that it loads to a file. */
export const listingModulesTo = (file: string) => ({
  NODE_OPTIONS: `--import=${import.meta.resolve('@petstore/testing/list-loaded-modules')}`,
  LOADED_MODULES: file,
});

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
