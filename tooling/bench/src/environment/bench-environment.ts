import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../read-arguments.ts';
import { type Result, SampleCollector } from '../report.ts';
import { ChildProcesses } from './child-process.ts';
import { type Databases, openDatabases } from './databases.ts';
import { cpuMsOf, MEASURES_COST, peakMbOf, processTree } from './process-cost.ts';
import { openStorage, type Storage } from './storage.ts';

/** What is measured, and what it is compared with. */
export const CONTENDERS = ['service', 'baseline'] as const;
export type Contender = (typeof CONTENDERS)[number];

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Both take PORT, DATABASE_URL and REDIS_URL, and print the address that they listen on. */
const SERVERS = {
  service: fileOf('../../../../apps/server/src/main.js'),
  baseline: fileOf('../baseline/main.ts'),
} satisfies Record<Contender, string>;
const LISTENING_LINE = /listening on (http:\/\/[\w.:[\]-]+)/;

const LOAD_PROGRAMS = {
  'load-requests': fileOf('../load/load-requests.ts'),
  'read-list': fileOf('../load/read-list.ts'),
};

export interface RunningServer extends AsyncDisposable {
  /** As in `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly listUrl: string;
  /** The server's processes at this moment. */
  pids(): readonly number[];
}

/** Processor time in milliseconds, and the most memory that the server has had so far in MB. */
interface Cost {
  readonly serverMs: number;
  readonly postgresMs: number;
  readonly redisMs: number;
  readonly peakMb: number;
}

/** The storage, databases and processes of a run. Disposing of it ends all that it started. */
export interface BenchEnvironment extends AsyncDisposable {
  readonly options: BenchOptions;
  readonly databases: Databases;
  /** Whether it is disposed of: nothing can be started any more. */
  readonly isClosed: boolean;
  /** Prints a line about what is done now. */
  showProgress(step: string): void;
  /** Starts a contender on a database, with the settings of production. */
  startServer(contender: Contender, databaseUrl: string): Promise<RunningServer>;
  /** Runs a program of src/load, which prints one JSON value, in a process of its own. */
  runLoadProgram<Report>(name: keyof typeof LOAD_PROGRAMS, task: unknown): Promise<Report>;
  /** @returns what work that keeps a server busy gave and cost; no cost where the machine does not measure it */
  measure<Value>(server: RunningServer, work: () => Promise<Value>): Promise<{ value: Value; cost?: Cost }>;
}

/** Starts the PostgreSQL and the Redis that all scenarios share. */
export async function openBenchEnvironment(options: BenchOptions): Promise<BenchEnvironment> {
  const startMs = performance.now();
  const showProgress = (step: string) =>
    console.error(`${((performance.now() - startMs) / 1000).toFixed(0).padStart(4)} s  ${step}`);
  showProgress('starting PostgreSQL and Redis');
  await using stack = new AsyncDisposableStack();
  const storage = stack.use(await openStorage());
  const children = stack.use(new ChildProcesses());
  const databases = await openDatabases(storage);
  const owned = stack.move();
  return {
    options,
    databases,
    showProgress,
    get isClosed() {
      return owned.disposed;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
    async startServer(contender, databaseUrl) {
      const program = children.start(SERVERS[contender], [], {
        DATABASE_URL: databaseUrl,
        REDIS_URL: storage.redisUrl,
        DATA_DIR: storage.folder,
        PORT: '0',
        ADMIN_PORT: '0',
        LOG_FORMAT: 'json',
      });
      const url = await program.waitForLine(LISTENING_LINE);
      return {
        url,
        listUrl: `${url}/v1/store/orders`,
        pids: () => processTree(program.pid),
        [Symbol.asyncDispose]: () => program.stop(),
      };
    },
    async runLoadProgram(name, task) {
      const program = children.start(LOAD_PROGRAMS[name], [JSON.stringify(task)]);
      return JSON.parse(await program.waitForEnd()); // written by the program of that name
    },
    measure: (server, work) => measureCost(storage, server, work),
  };
}

async function measureCost<Value>(
  storage: Storage,
  server: RunningServer,
  work: () => Promise<Value>,
): Promise<{ value: Value; cost?: Cost }> {
  if (!MEASURES_COST) return { value: await work() };
  const read = () => ({
    server: cpuMsOf(server.pids()),
    postgres: cpuMsOf(processTree(storage.postgresPid)),
    redis: cpuMsOf([storage.redisPid]),
  });
  const before = read();
  const value = await work();
  const after = read();
  const cost = {
    serverMs: after.server - before.server,
    postgresMs: after.postgres - before.postgres,
    redisMs: after.redis - before.redis,
    peakMb: peakMbOf(server.pids()),
  };
  return { value, cost };
}

/** Measures service and baseline alternately, so that other load on the machine affects both alike. */
export async function measureAlternately<Name extends string>(
  { options, showProgress }: BenchEnvironment,
  [subject, base]: readonly [Name, Name],
  measure: (name: Name) => Promise<Readonly<Record<string, number | undefined>>>,
): Promise<Pick<Result, 'base' | 'subject'>> {
  const rows = [subject, base].map((name) => ({ name, collector: new SampleCollector() }));
  for (let round = 1; round <= options.rounds; round++) {
    for (const { name, collector } of rows) {
      showProgress(`  round ${round} of ${options.rounds}, ${name}`);
      collector.add(await measure(name));
    }
  }
  const [first, second] = rows.map(({ name, collector }) => ({ name, samples: collector.samples }));
  if (first === undefined || second === undefined) throw new Error('two are compared');
  return { subject: first, base: second };
}
