import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '@petstore/runtime';
import type { SharedServers } from './global-setup.ts';
import { type ClusterSeed, createTestCluster, startTestRedis, TEST_POSTGRES_PARAMETERS } from './server-programs.ts';
import { startPostgres, stopPostgres } from './servers/postgres-cluster.ts';
import { stopRedis } from './servers/redis-process.ts';

// A process of its own, in a session of its own. It runs the servers that the test files of one run share, prints
// SharedServers as one line of JSON, and ends them when its standard input ends, which happens however the run ends: done,
// failed, interrupted or killed.

const inputEnd = new Promise<void>((resolve) => {
  process.stdin.on('end', resolve).on('error', () => resolve());
  process.stdin.resume();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// The run may have ended before something is written.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

const temporaryFolder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
chmodSync(temporaryFolder, 0o711); // PostgreSQL may run as another user
const processFolder = join(temporaryFolder, 'processes');
mkdirSync(processFolder);

const LEFT_OVER_GRACE_MS = 4_000;
const cleanUps: (() => Promise<void>)[] = [];

async function runPostgres(): Promise<Pick<SharedServers, 'postgresUrl' | 'clusterSeed'>> {
  const { cluster: original, password } = await createTestCluster(join(temporaryFolder, 'seed'));
  const clusterSeed: ClusterSeed = { folder: original.folder, password };
  const { cluster, urlAt } = await createTestCluster(join(temporaryFolder, 'postgres'), clusterSeed);
  const { port, process: server } = await startPostgres(cluster, TEST_POSTGRES_PARAMETERS);
  cleanUps.push(() => stopPostgres(server));
  return { postgresUrl: urlAt(port), clusterSeed };
}

async function runRedis(): Promise<string> {
  const { port, process: server } = await startTestRedis(join(temporaryFolder, 'redis'));
  cleanUps.push(() => stopRedis(server));
  return `redis://127.0.0.1:${port}`;
}

/** Ends processes that test files started and did not end: by SIGTERM first, so that they end what they started. */
async function endLeftOvers(): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of findLeftOvers()) sendSignal(pid, signal);
    for (let waitedMs = 0; waitedMs < LEFT_OVER_GRACE_MS && findLeftOvers().length > 0; waitedMs += 50) await sleep(50);
  }
}

/** Processes that test files have named, and those that work in the temporary folder. */
function findLeftOvers(): number[] {
  const named = readdirSync(processFolder).map(Number).filter(isAlive);
  return [...new Set([...named, ...findProcessesIn(temporaryFolder)])];
}

/** By their working folder, which only Linux shows. */
function findProcessesIn(folder: string): number[] {
  if (!existsSync('/proc/self/cwd')) return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => workingFolderOf(pid).startsWith(`${folder}/`)).map(Number);
}

function workingFolderOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // it has ended, or is another user's
  }
}

const isAlive = (pid: number): boolean => sendSignal(pid, 0);

function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

const results = await Promise.allSettled([runPostgres(), runRedis()]);
const [postgres, redis] = results;
if (postgres.status === 'fulfilled' && redis.status === 'fulfilled') {
  const servers: SharedServers = {
    ...postgres.value,
    redisUrl: redis.value,
    temporaryFolder,
    processFolder,
  };
  process.stdout.write(`${JSON.stringify(servers)}\n`);
  await inputEnd;
} else {
  for (const { reason } of results.filter((result) => result.status === 'rejected')) {
    console.error(reason instanceof RuntimeError ? reason.message : reason);
  }
  process.exitCode = 1;
}
await Promise.allSettled(cleanUps.map((cleanUp) => cleanUp()));
await endLeftOvers();
rmSync(temporaryFolder, { recursive: true, force: true, maxRetries: 5 });
process.exit();
