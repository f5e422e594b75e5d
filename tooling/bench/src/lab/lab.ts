import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../progress.ts';
import type { BenchOptions } from '../read-arguments.ts';
import { ChildProcesses } from './child-process.ts';
import { type Contender, LISTENING_LINE, PROGRAMS } from './contenders.ts';
import { type Databases, openDatabases } from './databases.ts';
import { cpuMsOf, machineCpuMs, peakMbOf, processTree, resetPeak, TELLS_COST } from './process-cost.ts';
import { openStorage, type Storage } from './storage.ts';

/** A contender that runs. */
export interface RunningServer extends AsyncDisposable {
  /** As in `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly listUrl: string;
  /** The server's processes at this moment. */
  pids(): readonly number[];
}

/** What something cost, in milliseconds of processor time and MB of memory. Nothing where the machine does not tell. */
export interface Cost {
  readonly serverMs: number;
  readonly postgresMs: number;
  readonly redisMs: number;
  readonly peakMb: number;
}

/** What a lab is made of. */
interface Equipment {
  readonly options: BenchOptions;
  readonly progress: Progress;
  readonly storage: Storage;
  readonly databases: Databases;
  readonly children: ChildProcesses;
  readonly stack: AsyncDisposableStack;
}

/** Everything that the scenarios work with. Disposing of it ends whatever it started. */
export class Lab implements AsyncDisposable {
  readonly options: BenchOptions;
  readonly progress: Progress;
  readonly databases: Databases;
  readonly storage: Storage;
  /** The share of the machine that others took during each measurement. */
  readonly othersShares: number[] = [];
  readonly #children: ChildProcesses;
  readonly #stack: AsyncDisposableStack;

  constructor({ options, progress, storage, databases, children, stack }: Equipment) {
    this.options = options;
    this.progress = progress;
    this.storage = storage;
    this.databases = databases;
    this.#children = children;
    this.#stack = stack;
  }

  /** Whether it is being left: nothing can be started any more. */
  get isOver(): boolean {
    return this.#stack.disposed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Starts a contender on a database, with the settings of production. */
  async startServer(
    contender: Contender,
    databaseUrl: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<RunningServer> {
    const program = this.#children.start(PROGRAMS[contender], [], {
      DATABASE_URL: databaseUrl,
      REDIS_URL: this.storage.redisUrl,
      DATA_DIR: this.storage.folder,
      PORT: '0',
      ADMIN_PORT: '0',
      LOG_FORMAT: 'json',
      ...environment,
    });
    const url = await program.waitForLine(LISTENING_LINE);
    return {
      url,
      listUrl: `${url}/v1/store/orders`,
      pids: () => processTree(program.pid),
      [Symbol.asyncDispose]: () => program.stop(),
    };
  }

  /** Runs a program of src/load, which prints one JSON value, in a process of its own. */
  async runLoadProgram<Report>(name: LoadProgram, task: unknown): Promise<Report> {
    const program = this.#children.start(LOAD_PROGRAMS[name], [JSON.stringify(task)]);
    return JSON.parse(await program.waitForEnd()); // written by the program of that name
  }

  /** Does something that keeps a server busy, and tells what that cost. */
  async measure<Value>(server: RunningServer, work: () => Promise<Value>): Promise<{ value: Value; cost?: Cost }> {
    if (!TELLS_COST) return { value: await work() };
    const read = () => ({
      atMs: performance.now(),
      server: cpuMsOf(server.pids()),
      postgres: cpuMsOf(processTree(this.storage.postgresPid)),
      redis: cpuMsOf([this.storage.redisPid]),
      own: cpuMsOf([process.pid]),
      machine: machineCpuMs(),
    });
    resetPeak(server.pids());
    const before = read();
    const value = await work();
    const after = read();
    const spent = (what: keyof typeof before) => after[what] - before[what];
    const others = spent('machine') - spent('server') - spent('postgres') - spent('redis') - spent('own');
    this.othersShares.push(Math.max(0, others / (spent('atMs') * availableParallelism())));
    const cost = {
      serverMs: spent('server'),
      postgresMs: spent('postgres'),
      redisMs: spent('redis'),
      peakMb: peakMbOf(server.pids()),
    };
    return { value, cost };
  }
}

const LOAD_PROGRAMS = {
  'load-requests': fileURLToPath(new URL('../load/load-requests.ts', import.meta.url)),
  'read-list': fileURLToPath(new URL('../load/read-list.ts', import.meta.url)),
};
type LoadProgram = keyof typeof LOAD_PROGRAMS;

/** Starts the servers that all scenarios share. */
export async function openLab(options: BenchOptions, progress: Progress): Promise<Lab> {
  progress.step('starting PostgreSQL and Redis');
  await using stack = new AsyncDisposableStack();
  const storage = stack.use(await openStorage());
  const children = stack.use(new ChildProcesses());
  const databases = await openDatabases(storage);
  return new Lab({ options, progress, storage, databases, children, stack: stack.move() });
}
