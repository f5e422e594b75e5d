import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, vi } from 'vitest';
import { commandAsUser } from '../../src/process/unprivileged-user.ts';

/** Root may write everywhere, so denied access is tested as the user `nobody`. */
export const ORDINARY_USER = process.getuid?.() === 0 ? 65_534 : undefined;

export const PROGRAM = join(import.meta.dirname, 'use-data-folder.ts');

/** What a server says of its PostgreSQL. */
interface Said {
  readonly url: string;
  readonly pid: number;
  readonly error?: string;
  readonly ended?: boolean;
}

/** A process that has the PostgreSQL below a data folder, until it is stopped. */
export class Server implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param role `exits`: ends at once, without stopping PostgreSQL
   * @param uid whom to run as, where the tests run as root; the checkout may be closed to them
   * @param stoppingPatienceMs how long it waits for a server that is stopping. @default as long as a server
   */
  constructor(
    folder: string,
    {
      role = '',
      uid,
      stoppingPatienceMs,
    }: { role?: 'exits' | ''; uid?: number | undefined; stoppingPatienceMs?: number } = {},
  ) {
    const user = uid === undefined ? undefined : { uid, gid: uid };
    const [file, ...args] = commandAsUser(
      [process.execPath, PROGRAM, folder, role, String(stoppingPatienceMs ?? '')],
      user,
    );
    this.process = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' });
    if (this.process.stdout === null) throw new Error('no output');
    this.#lines = createInterface(this.process.stdout)[Symbol.asyncIterator]();
  }

  async said(): Promise<Said> {
    const { value } = await this.#lines.next();
    const said: Said = JSON.parse(String(value));
    if (said.pid !== undefined) endWithTest(said.pid);
    return said;
  }

  /** Tells it that it is to stop, as a signal tells a server. PostgreSQL goes on. */
  async beginStopping(folder: string): Promise<void> {
    this.process.stdin?.write('\n');
    const isStopping = () => readFileSync(join(folder, 'server.pid'), 'utf8').endsWith('stopping');
    await vi.waitUntil(isStopping, { timeout: 25_000 });
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, 'exit');
    this.process.stdin?.end();
    await exit;
  }

  async kill(): Promise<void> {
    const exit = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exit;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Whether a process exists and has not ended: a zombie, which its parent has not waited for, has. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch (error) {
    return error instanceof Error && 'path' in error && !existsSync('/proc/self/stat'); // it lives, and there is no /proc
  }
}

/** Servers of the running test. */
let leftovers: number[] = [];

/** Ends a process with the test that runs, which fails if it is left. */
export const endWithTest = (pid: number): void => void leftovers.push(pid);

interface DataFolders {
  /** Does not exist yet. */
  readonly path: string;
  /** Makes it, with a database. */
  seed(): void;
}

/** A data folder for each test, and no server that outlives the test. */
export function useDataFolders(): DataFolders {
  let path = '';
  beforeEach(() => {
    leftovers = [];
    path = join(mkdtempSync(join(tmpdir(), 'petstore-runtime-')), 'data folder');
  });
  afterEach(async () => {
    // `pg_ctl` goes by the file of PostgreSQL's pid, which is gone a moment before its process is.
    await vi.waitUntil(() => !leftovers.some(isAlive), { timeout: 5_000 }).catch(() => {});
    const survivors = leftovers.filter(isAlive);
    for (const pid of survivors) process.kill(pid, 'SIGKILL');
    rmSync(join(path, '..'), { recursive: true, force: true, maxRetries: 5 });
    expect(survivors, 'servers that outlived their test').toEqual([]);
  });
  return {
    get path() {
      return path;
    },
    seed: () => void execFileSync('cp', ['-a', '--reflink=auto', inject('seed'), path]),
  };
}

/** A process that is no server, to have its pid. @param user whom to run it as, where the tests run as root */
export function spawnSleep(user: { uid?: number; gid?: number } = {}): ChildProcess & AsyncDisposable {
  const identity = process.getuid?.() === 0 ? { uid: user.uid, gid: user.gid } : {};
  const child = spawn('sleep', ['60'], { stdio: 'ignore', ...identity });
  endWithTest(child.pid ?? 0);
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit');
      child.kill();
      await exit;
    },
  });
}

/** A connection that may be lost. */
export async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // the query rejects with it
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  await using client = await connect(url);
  return (await client.query(sql)).rows;
}
